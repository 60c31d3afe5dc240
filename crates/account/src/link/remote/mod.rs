//! Links to regions in other processes, on other machines: frames over TLS.
//!
//! There is one connection for each direction. A region dials every other one and sends on what it
//! dialled; what it accepted it only reads. So nobody has to agree on whose connection is used, and
//! a direction has one queue, one task and one fate.
//!
//! ```text
//!  dials    -> TLS 1.3, both sides show certificates of the account's authority
//!           -> greeting { account, from, to }      <- greeting { account, from, to }
//!           -> length, from, to, frame ...         <- nothing of length 0, now and then: heard
//! ```
//!
//! A region is whoever has the certificate for its name. The numbers of regions travel with each
//! frame: a region that joins an account learns its own, and those of the others, from the first
//! frame that a member sends it.
//!
//! Nothing is sent for the sake of the connection. A sender that hears nothing of what it sent dials
//! again; the beats of the protocol make sure that there is something to hear of.

mod dial;
mod error;
mod framing;
mod greet;
mod identity;
mod listen;
mod name;
pub mod peer_certificates;
mod queue;
mod strangers;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::Links;

pub use error::PeerError;
pub use identity::PeerIdentity;
pub(super) use name::Slug;
pub(super) use queue::{Envelope, Queue};

/// The links of one region to other processes. They end when this is dropped.
pub struct Remote {
    local: Arc<Local>,
    /// What listens, and what dials each region.
    listeners: Mutex<Vec<AbortHandle>>,
    dialers: Mutex<BTreeMap<Slug, AbortHandle>>,
}

/// What connections need to know of the region that they are connections of.
struct Local {
    links: Links,
    account: String,
    region: String,
    slug: Slug,
    identity: PeerIdentity,
    timing: Timing,
    /// The connection that is read for each region. A newer one replaces it: whoever dials again
    /// has given up the older, which may not have noticed.
    read: Mutex<BTreeMap<Slug, oneshot::Sender<()>>>,
    /// Regions that were dialled, and whether one of them had a number in the account.
    met: Mutex<BTreeMap<Slug, bool>>,
}

#[derive(Debug, Clone, Copy)]
struct Timing {
    /// For connecting, the handshake and the greeting together.
    greeting: Duration,
    /// Between tries to connect: doubles from the first to the second.
    pause_min: Duration,
    pause_max: Duration,
    /// After so long without a sign that something sent was read, the connection is given up.
    silence: Duration,
    /// How often at most such a sign is given.
    heard: Duration,
}

const TIMING: Timing = Timing {
    greeting: Duration::from_secs(5),
    pause_min: Duration::from_millis(50),
    pause_max: Duration::from_secs(2),
    silence: Duration::from_secs(5),
    heard: Duration::from_millis(500),
};

impl Remote {
    /// Links of a region of this account. The identity must be for the region's name.
    pub fn new(
        links: &Links,
        account: &str,
        region: &str,
        identity: PeerIdentity,
    ) -> Result<Remote, PeerError> {
        Remote::with_timing(links, account, region, identity, TIMING)
    }

    fn with_timing(
        links: &Links,
        account: &str,
        region: &str,
        identity: PeerIdentity,
        timing: Timing,
    ) -> Result<Remote, PeerError> {
        let slug = Slug::new(region).ok_or_else(|| PeerError::Name(region.to_owned()))?;
        if !identity.is_for(&slug) {
            return Err(PeerError::OtherName(slug.dns_name()));
        }
        Ok(Remote {
            local: Arc::new(Local {
                links: links.clone(),
                account: account.to_owned(),
                region: region.to_owned(),
                slug,
                identity,
                timing,
                read: Mutex::default(),
                met: Mutex::default(),
            }),
            listeners: Mutex::default(),
            dialers: Mutex::default(),
        })
    }

    /// Takes connections of other regions. Must be called inside a tokio runtime.
    pub fn listen(&self, listener: TcpListener) {
        let task = tokio::spawn(listen::run(listener, Arc::clone(&self.local)));
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(task.abort_handle());
    }

    /// Keeps a connection to a region at this address (`host:port`), from now on; one that was kept
    /// elsewhere is given up. Frames go there once [`Links::name`] or the region itself has said which
    /// number it has. The region itself is passed over, so that all can be given the same list. Must
    /// be called inside a tokio runtime.
    pub fn connect(&self, region: &str, address: &str) -> Result<(), PeerError> {
        let slug = Slug::new(region).ok_or_else(|| PeerError::Name(region.to_owned()))?;
        if slug == self.local.slug {
            return Ok(());
        }
        let dialer = dial::Dialer {
            local: Arc::clone(&self.local),
            region: region.to_owned(),
            slug: slug.clone(),
            address: address.to_owned(),
            queue: self.local.links.attach_remote(&slug),
        };
        let mut dialers = self.dialers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = dialers.remove(&slug) {
            before.abort();
        }
        dialers.insert(slug, tokio::spawn(dialer.run()).abort_handle());
        Ok(())
    }

    /// Whether any of the regions that are dialled has a number in the account; none until each was tried once.
    pub fn has_met_members(&self) -> Option<bool> {
        let dialers = self.dialers.lock().unwrap_or_else(PoisonError::into_inner);
        let met = self.local.met.lock();
        let met = met.unwrap_or_else(PoisonError::into_inner);
        let has_met = met.values().any(|is_placed| *is_placed);
        let is_over = dialers.keys().all(|slug| met.contains_key(slug));
        (has_met || is_over).then_some(has_met)
    }

    /// Ends the connections to and from a region.
    pub fn disconnect(&self, region: &str) {
        let Some(slug) = Slug::new(region) else {
            return;
        };
        let mut dialers = self.dialers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dialer) = dialers.remove(&slug) {
            dialer.abort();
        }
        self.local.links.detach_remote(&slug);
        self.local.reading().remove(&slug);
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let listeners = self
            .listeners
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let dialers = self
            .dialers
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for task in listeners.iter().chain(dialers.values()) {
            task.abort();
        }
    }
}

impl Local {
    fn reading(&self) -> std::sync::MutexGuard<'_, BTreeMap<Slug, oneshot::Sender<()>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a region dials this one now.
    fn is_heard(&self, slug: &Slug) -> bool {
        let reading = self.reading();
        reading.get(slug).is_some_and(|read| !read.is_closed())
    }

    fn met(&self, slug: &Slug, is_placed: bool) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        *met.entry(slug.clone()).or_default() |= is_placed;
    }
}
