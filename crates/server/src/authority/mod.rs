//! What the sender of a request may touch, as a value.
//!
//! [`authorize`] makes it, and it alone has what the headers select of a container (partition key, range,
//! effective partition keys). Whoever wants items gets a [`Reach`] from it, whose methods are the only callers
//! of the engine's functions for items; keys ([`Key`]) and scopes ([`Area`]) are made there and nowhere else.
//! So a route cannot forget what a token covers: without an authority it has no key and no scope.
//! `xtask/tests/tidy.rs` holds the rest of the server to that.

mod area;
mod authorize;
mod item_grant;
mod mint;
mod reach;

use orrery_keys::{ChildRid, ContainerRid};
use orrery_model::Failure;
use orrery_wire::{Grant, KeyMark, Selection, Signer, refused};

pub(crate) use area::{Area, Key};
pub(crate) use authorize::{Authorized, authorize};
pub(crate) use mint::{check_permission, mint};
pub(crate) use reach::Reach;

#[derive(Debug)]
pub(crate) struct Authority<'r> {
    bearer: Bearer,
    selection: Selection<'r>,
}

#[derive(Debug)]
enum Bearer {
    /// A key of the account signed the request: everything that its role allows.
    Account(Signer),
    Token(Box<Grant>),
    /// The server verified no credential, because the answer contains no stored data.
    Anybody,
}

impl Authority<'_> {
    fn grant(&self) -> Option<&Grant> {
        match &self.bearer {
            Bearer::Token(grant) => Some(grant),
            Bearer::Account(_) | Bearer::Anybody => None,
        }
    }

    /// Routes call this for every container that they look up, with the resource id that the
    /// container under the requested name had at that moment.
    pub(crate) fn check_container(&self, rid: ContainerRid) -> Result<(), Failure> {
        self.check(|grant| grant.covers_container(rid))
    }

    pub(crate) fn check_script(&self, rid: ChildRid) -> Result<(), Failure> {
        self.check(|grant| grant.covers_script(rid))
    }

    fn check(&self, covers: impl FnOnce(&Grant) -> bool) -> Result<(), Failure> {
        match &self.bearer {
            Bearer::Account(_) => Ok(()),
            Bearer::Token(grant) if covers(grant) => Ok(()),
            Bearer::Token(_) | Bearer::Anybody => Err(refused("does not cover this resource")),
        }
    }

    /// Whether an answer may tell facts about all items of a covered container, such as counts,
    /// sizes and the plan of a query over all of them. A token for one partition key or for single
    /// items must not reveal them.
    pub(crate) fn covers_whole_containers(&self) -> bool {
        self.grant()
            .is_none_or(|grant| grant.partition_key.is_none() && grant.items().is_none())
    }

    /// What tokens are made with. Tokens make no tokens.
    fn key_mark(&self) -> Result<&KeyMark, Failure> {
        match &self.bearer {
            Bearer::Account(signer) => Ok(&signer.mark),
            Bearer::Token(_) | Bearer::Anybody => Err(refused("does not cover this resource")),
        }
    }
}
