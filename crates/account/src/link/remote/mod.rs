//! Links to regions in other processes, on other machines: frames over TLS.
//!
//! Each direction has its own connection. A region dials every other region and sends only on the
//! connections that it dialled; from accepted connections it only reads. So two regions need no
//! agreement on a shared connection, and each direction has one queue, one task and one state.
//!
//! ```text
//!  dials    -> TLS 1.3, both sides show certificates of the account's authority
//!           -> greeting { account, from, to }      <- greeting { account, from, to }
//!           -> length, from, to, frame ...         <- length 0, now and then: a receipt
//! ```
//!
//! The certificate proves the name of a region. Each frame has the numbers of its sender and
//! receiver: a region that joins an account learns its own number, and those of the others, from
//! the first frame that a member sends.
//!
//! A connection sends no keep-alive frames. A sender that gets no receipt for its bytes dials
//! again; the heartbeats of the protocol guarantee that there are bytes to confirm.

mod dial;
mod error;
mod framing;
mod greet;
mod identity;
mod listen;
mod name;
pub mod peer_certificates;
mod queue;
mod unauthenticated;

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

/// The links of one region to other processes. Dropping this value closes the connections.
pub struct RemoteLinks {
    local: Arc<LinkContext>,
    /// The tasks that accept connections, and the task that dials each region.
    listeners: Mutex<Vec<AbortHandle>>,
    dialers: Mutex<BTreeMap<Slug, AbortHandle>>,
}

/// The properties of the local region that its connections need.
struct LinkContext {
    links: Links,
    account: String,
    region: String,
    slug: Slug,
    identity: PeerIdentity,
    timing: Timing,
    /// The connection from each region that this region reads. A newer connection replaces an older
    /// one, because a region that dials again has given up its older connection; this side may not
    /// have noticed.
    read: Mutex<BTreeMap<Slug, oneshot::Sender<()>>>,
    /// The dialled regions, each with a flag: the region had a number in the account.
    met: Mutex<BTreeMap<Slug, bool>>,
}

#[derive(Debug, Clone, Copy)]
struct Timing {
    /// The limit for the connection, the handshake and the greeting together.
    greeting: Duration,
    /// The pause between two attempts: doubles from the minimum to the maximum.
    pause_min: Duration,
    pause_max: Duration,
    /// After this long without a receipt the sender closes the connection.
    silence: Duration,
    /// The minimum time between two receipts.
    heard: Duration,
}

const TIMING: Timing = Timing {
    greeting: Duration::from_secs(5),
    pause_min: Duration::from_millis(50),
    pause_max: Duration::from_secs(2),
    silence: Duration::from_secs(5),
    heard: Duration::from_millis(500),
};

impl RemoteLinks {
    /// The links of a region of this account. The identity must certify the region's name.
    pub fn new(
        links: &Links,
        account: &str,
        region: &str,
        identity: PeerIdentity,
    ) -> Result<RemoteLinks, PeerError> {
        RemoteLinks::with_timing(links, account, region, identity, TIMING)
    }

    fn with_timing(
        links: &Links,
        account: &str,
        region: &str,
        identity: PeerIdentity,
        timing: Timing,
    ) -> Result<RemoteLinks, PeerError> {
        let slug = Slug::new(region).ok_or_else(|| PeerError::Name(region.to_owned()))?;
        if !identity.is_for(&slug) {
            return Err(PeerError::OtherName(slug.dns_name()));
        }
        Ok(RemoteLinks {
            local: Arc::new(LinkContext {
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

    /// Accepts connections of other regions. Must be called inside a tokio runtime.
    pub fn listen(&self, listener: TcpListener) {
        let task = tokio::spawn(listen::run(listener, Arc::clone(&self.local)));
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(task.abort_handle());
    }

    /// Dials a region at an address (`host:port`) from now on, in place of any earlier address.
    /// Frames go there once [`Links::name`] or the region itself has set the region's number. The
    /// local region is ignored, so that all regions can have the same list. Must be called inside a
    /// tokio runtime.
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

    /// Whether any dialled region has a number in the account; none until each region was tried
    /// once.
    pub fn has_met_members(&self) -> Option<bool> {
        let dialers = self.dialers.lock().unwrap_or_else(PoisonError::into_inner);
        let met = self.local.met.lock();
        let met = met.unwrap_or_else(PoisonError::into_inner);
        let has_met = met.values().any(|is_placed| *is_placed);
        let is_over = dialers.keys().all(|slug| met.contains_key(slug));
        (has_met || is_over).then_some(has_met)
    }

    /// Closes the connections to and from a region.
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

impl Drop for RemoteLinks {
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

impl LinkContext {
    fn reading(&self) -> std::sync::MutexGuard<'_, BTreeMap<Slug, oneshot::Sender<()>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a region dials this one at the moment.
    fn is_heard(&self, slug: &Slug) -> bool {
        let reading = self.reading();
        reading.get(slug).is_some_and(|read| !read.is_closed())
    }

    fn met(&self, slug: &Slug, is_placed: bool) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        *met.entry(slug.clone()).or_default() |= is_placed;
    }
}
