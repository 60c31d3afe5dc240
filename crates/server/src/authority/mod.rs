//! The authority of a request, as a value: what its sender may touch.
//!
//! [`authorize`] makes this value, and only this value has what the headers select of a container
//! (partition key, range, effective partition keys). A route that needs items gets an
//! [`ItemAccess`] from it, whose methods are the only callers of the engine's functions for items;
//! keys ([`AuthorizedKey`]) and scopes ([`AuthorizedScope`]) are made there and nowhere else. So a
//! route cannot forget the limits of a token: without an authority the route has no key and no
//! scope. `xtask/tests/tidy` checks that the rest of the server keeps to these rules.

mod authorize;
mod item_access;
mod item_grant;
mod mint;
mod scope;

use orrery_keys::{ChildRid, ContainerRid};
use orrery_model::Failure;
use orrery_wire::{Grant, Selection, Signer, TokenKey, token_forbidden};

pub(crate) use authorize::{AuthorizedRequest, authorize, authorize_addresses};
pub(crate) use item_access::ItemAccess;
pub(crate) use mint::{check_permission, mint};
pub(crate) use scope::{AuthorizedKey, AuthorizedScope, FormerRanges};

#[derive(Debug)]
pub(crate) struct Authority<'r> {
    bearer: Principal,
    selection: Selection<'r>,
}

#[derive(Debug)]
enum Principal {
    /// A key of the account signed the request, which may do everything that the role of the key
    /// allows.
    Account(Signer),
    Token(Box<Grant>),
    /// The server verified no credential, because the answer contains no stored data.
    Anonymous,
}

impl Authority<'_> {
    fn grant(&self) -> Option<&Grant> {
        match &self.bearer {
            Principal::Token(grant) => Some(grant),
            Principal::Account(_) | Principal::Anonymous => None,
        }
    }

    /// Whether a key of the account signed the request.
    pub(crate) fn has_key(&self) -> bool {
        matches!(self.bearer, Principal::Account(_))
    }

    /// Checks that the authority covers a container. Routes call this for every container that they
    /// look up, with the resource id that the container under the requested name had at that
    /// moment.
    pub(crate) fn check_container(&self, rid: ContainerRid) -> Result<(), Failure> {
        self.check(|grant| grant.covers_container(rid))
    }

    pub(crate) fn check_script(&self, rid: ChildRid) -> Result<(), Failure> {
        self.check(|grant| grant.covers_script(rid))
    }

    fn check(&self, covers: impl FnOnce(&Grant) -> bool) -> Result<(), Failure> {
        match &self.bearer {
            Principal::Account(_) => Ok(()),
            Principal::Token(grant) if covers(grant) => Ok(()),
            Principal::Token(_) | Principal::Anonymous => {
                Err(token_forbidden("does not cover this resource"))
            }
        }
    }

    /// Whether an answer may tell facts about all items of a covered container, such as counts,
    /// sizes and the plan of a query over all of them. A token for one partition key or for single
    /// items must not reveal them.
    pub(crate) fn covers_whole_containers(&self) -> bool {
        self.grant()
            .is_none_or(|grant| grant.partition_key.is_none() && grant.items().is_none())
    }

    /// The key that signs new tokens. A request under a token fails here, so tokens create no
    /// tokens.
    fn token_key(&self) -> Result<&TokenKey, Failure> {
        match &self.bearer {
            Principal::Account(signer) => Ok(&signer.token_key),
            Principal::Token(_) | Principal::Anonymous => {
                Err(token_forbidden("does not cover this resource"))
            }
        }
    }
}
