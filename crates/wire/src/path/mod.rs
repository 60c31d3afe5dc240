//! From the path of a URL to the resource it names.
//!
//! Segments are positional: even ones are keywords, odd ones ids. A keyword is never searched for,
//! because a database may be called `colls`. Whether the ids are names or resource ids is decided on
//! the segment after `dbs` and holds for the whole path.

mod keyword;

use std::borrow::Cow;

use orrery_keys::{DatabaseRid, OfferRid, is_database_rid};
use orrery_model::{
    ContainerAddress, DatabaseAddress, Failure, ItemAddress, PermissionAddress, ScriptKind,
    UserAddress,
};

use crate::percent;
pub(crate) use keyword::script_keyword;
use keyword::{Keyword, is};

/// Segments of the longest path: `dbs/d/colls/c/docs/i/attachments/a`.
const SEGMENTS_MAX: usize = 8;
/// In front of paths that the service does not have.
const OWN: &str = "_orrery";

/// A path split at `/` and then decoded; empty segments are gone.
#[derive(Debug, Clone)]
pub struct RequestPath<'a> {
    segments: [Cow<'a, str>; SEGMENTS_MAX],
    count: usize,
    /// Whether `_orrery` stood in front, which is neither signed nor a segment.
    is_own: bool,
}

/// What a path names. Feeds are named by their parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource<'p> {
    Account,
    Databases,
    Database(DatabaseAddress<'p>),
    Containers(DatabaseAddress<'p>),
    Container(ContainerAddress<'p>),
    Items(ContainerAddress<'p>),
    Item(ItemAddress<'p>),
    PartitionKeyRanges(ContainerAddress<'p>),
    PartitionKeyRange(ContainerAddress<'p>, &'p str),
    /// `operations/partitionkeydelete`: all items of one logical partition.
    PartitionKeyDelete(ContainerAddress<'p>),
    Scripts(ContainerAddress<'p>, ScriptKind),
    Script(ContainerAddress<'p>, ScriptKind, &'p str),
    Conflicts(ContainerAddress<'p>),
    Conflict(ContainerAddress<'p>, &'p str),
    Users(DatabaseAddress<'p>),
    User(UserAddress<'p>),
    Permissions(UserAddress<'p>),
    Permission(PermissionAddress<'p>),
    ClientEncryptionKeys(DatabaseAddress<'p>),
    ClientEncryptionKey(DatabaseAddress<'p>, &'p str),
    Offers,
    Offer(OfferRid),
    /// Discovery of replicas, for clients in direct mode.
    Addresses,
    DistributedTransaction,
    /// `_orrery/…/partitions`: the physical partitions of a container, for operators.
    Partitions(ContainerAddress<'p>),
    /// `_orrery/…/throughput`: how its throughput is divided.
    Distribution(ContainerAddress<'p>),
    Metrics,
    /// `_orrery/requests`: what was asked of the server lately.
    RequestLog,
}

impl Resource<'_> {
    /// Whether this is part of the account's catalogue and not of one container's data.
    pub fn is_master(self) -> bool {
        match self {
            Resource::Databases
            | Resource::Database(_)
            | Resource::Containers(_)
            | Resource::Container(_)
            | Resource::PartitionKeyRanges(_)
            | Resource::PartitionKeyRange(..)
            | Resource::Users(_)
            | Resource::User(_)
            | Resource::Permissions(_)
            | Resource::Permission(_)
            | Resource::ClientEncryptionKeys(_)
            | Resource::ClientEncryptionKey(..)
            | Resource::Offers
            | Resource::Offer(_) => true,
            // The account is read by every client now and then to see whether it is there.
            Resource::Account
            | Resource::Items(_)
            | Resource::Item(_)
            | Resource::PartitionKeyDelete(_)
            | Resource::Scripts(..)
            | Resource::Script(..)
            | Resource::Conflicts(_)
            | Resource::Conflict(..)
            | Resource::Addresses
            | Resource::DistributedTransaction
            | Resource::Partitions(_)
            | Resource::Distribution(_)
            | Resource::RequestLog
            | Resource::Metrics => false,
        }
    }

    /// Whether only who has a key of the account may ask.
    pub fn is_for_operators(self) -> bool {
        matches!(
            self,
            Resource::Partitions(_)
                | Resource::Distribution(_)
                | Resource::RequestLog
                | Resource::Metrics
        )
    }

    /// Whether this is a list of resources, which can be queried.
    pub(crate) fn is_feed(self) -> bool {
        match self {
            Resource::Databases
            | Resource::Containers(_)
            | Resource::Items(_)
            | Resource::PartitionKeyRanges(_)
            | Resource::Scripts(..)
            | Resource::Conflicts(_)
            | Resource::Users(_)
            | Resource::Permissions(_)
            | Resource::ClientEncryptionKeys(_)
            | Resource::Offers => true,
            Resource::Account
            | Resource::Database(_)
            | Resource::Container(_)
            | Resource::Item(_)
            | Resource::PartitionKeyRange(..)
            | Resource::PartitionKeyDelete(_)
            | Resource::Script(..)
            | Resource::Conflict(..)
            | Resource::User(_)
            | Resource::Permission(_)
            | Resource::ClientEncryptionKey(..)
            | Resource::Offer(_)
            | Resource::Addresses
            | Resource::DistributedTransaction
            | Resource::Partitions(_)
            | Resource::Distribution(_)
            | Resource::RequestLog
            | Resource::Metrics => false,
        }
    }
}

/// What a client signs for a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SigningTarget<'p> {
    pub(crate) resource_type: &'static str,
    /// Joined by `/` these are the link of a path of names.
    pub(crate) link: &'p [Cow<'p, str>],
    /// Signed in lower case and alone, for a path of resource ids.
    pub(crate) rid: Option<&'p str>,
}

impl<'a> RequestPath<'a> {
    /// Splits the path of a URL; the query string is not part of it.
    pub fn parse(path: &'a str) -> Result<RequestPath<'a>, Failure> {
        let mut segments = <[Cow<'a, str>; SEGMENTS_MAX]>::default();
        let mut count = 0;
        let mut raw_segments = path.split('/').filter(|raw| !raw.is_empty()).peekable();
        let is_own = raw_segments.next_if_eq(&OWN).is_some();
        for raw in raw_segments {
            let place = segments.get_mut(count).ok_or_else(unparsable)?;
            *place = percent::decode(raw).ok_or_else(unparsable)?;
            count += 1;
        }
        Ok(RequestPath {
            segments,
            count,
            is_own,
        })
    }

    fn segments(&self) -> &[Cow<'a, str>] {
        &self.segments[..self.count]
    }

    /// The decoded link without slashes at its ends: `dbs/d/colls/c`.
    pub fn link(&self) -> String {
        self.segments().join("/")
    }

    /// Whether its ids are resource ids.
    pub fn is_by_rid(&self) -> bool {
        matches!(self.segments(), [_, database, ..] if is_database_rid(database))
    }

    pub fn resource(&self) -> Result<Resource<'_>, Failure> {
        if self.is_own {
            return self.own_resource();
        }
        let Some(first) = self.segments.first().filter(|_| self.count > 0) else {
            return Ok(Resource::Account);
        };
        match Keyword::of(first).ok_or_else(unparsable)? {
            Keyword::Databases => self.below_databases(),
            Keyword::Offers => match &self.segments()[1..] {
                [] => Ok(Resource::Offers),
                [rid] => Ok(Resource::Offer(OfferRid::parse(rid).map_err(not_a_rid)?)),
                _ => Err(unparsable()),
            },
            Keyword::Metrics if self.count == 1 => Ok(Resource::Metrics),
            Keyword::Addresses if self.count == 1 => Ok(Resource::Addresses),
            Keyword::Operations if self.count == 2 && is(&self.segments[1], "dtc") => {
                Ok(Resource::DistributedTransaction)
            }
            _ => Err(unparsable()),
        }
    }

    fn own_resource(&self) -> Result<Resource<'_>, Failure> {
        let [link @ .., keyword] = self.segments() else {
            return Err(unparsable());
        };
        if link.is_empty() && Keyword::of(keyword) == Some(Keyword::Requests) {
            return Ok(Resource::RequestLog);
        }
        let [root, database, containers, container] = link else {
            return Err(unparsable());
        };
        if !is(root, "dbs") || !is(containers, "colls") {
            return Err(unparsable());
        }
        let container = database_address(database)?.container(container)?;
        match Keyword::of(keyword) {
            Some(Keyword::Partitions) => Ok(Resource::Partitions(container)),
            Some(Keyword::Throughput) => Ok(Resource::Distribution(container)),
            _ => Err(unparsable()),
        }
    }

    fn below_databases(&self) -> Result<Resource<'_>, Failure> {
        let [_, rest @ ..] = self.segments() else {
            return Err(unparsable());
        };
        let [name, rest @ ..] = rest else {
            return Ok(Resource::Databases);
        };
        let database = database_address(name)?;
        let [keyword, rest @ ..] = rest else {
            return Ok(Resource::Database(database));
        };
        match (Keyword::of(keyword), rest) {
            (Some(Keyword::Containers), []) => Ok(Resource::Containers(database)),
            (Some(Keyword::Containers), [name, rest @ ..]) => {
                below_container(database.container(name)?, rest)
            }
            (Some(Keyword::Users), []) => Ok(Resource::Users(database)),
            (Some(Keyword::Users), [name, rest @ ..]) => below_user(database.user(name)?, rest),
            (Some(Keyword::ClientEncryptionKeys), []) => {
                Ok(Resource::ClientEncryptionKeys(database))
            }
            (Some(Keyword::ClientEncryptionKeys), [id]) => {
                Ok(Resource::ClientEncryptionKey(database, id))
            }
            _ => Err(unparsable()),
        }
    }

    pub(crate) fn signing_target(&self) -> SigningTarget<'_> {
        let segments = self.segments();
        // Keywords are at even places, so an even count ends in the id of one resource.
        let (keyword, link) = match segments {
            [link @ .., keyword] if link.len() % 2 == 0 => (keyword.as_ref(), link),
            [link @ .., keyword, _] if is(keyword, "operations") => (keyword.as_ref(), link),
            [.., keyword, _] => (keyword.as_ref(), segments),
            _ => ("", segments),
        };
        let by_rid = match segments {
            [root, ..] if is(root, "offers") => true,
            [_, database, ..] => is_database_rid(database),
            _ => false,
        };
        SigningTarget {
            resource_type: Keyword::of(keyword).map_or("", Keyword::resource_type),
            link,
            rid: if by_rid {
                link.last().map(AsRef::as_ref)
            } else {
                None
            },
        }
    }
}

fn database_address(name: &str) -> Result<DatabaseAddress<'_>, Failure> {
    if is_database_rid(name) {
        let rid = DatabaseRid::parse(name).map_err(|_| Failure::OWNER_NOT_FOUND)?;
        return Ok(DatabaseAddress::Rid(rid));
    }
    Ok(DatabaseAddress::Name(name))
}

fn below_container<'p>(
    container: ContainerAddress<'p>,
    rest: &'p [Cow<'p, str>],
) -> Result<Resource<'p>, Failure> {
    let [keyword, rest @ ..] = rest else {
        return Ok(Resource::Container(container));
    };
    match (Keyword::of(keyword).ok_or_else(unparsable)?, rest) {
        (Keyword::Items, []) => Ok(Resource::Items(container)),
        (Keyword::Items, [id]) => Ok(Resource::Item(container.item(id)?)),
        (Keyword::Items, [_, attachments, ..]) if is(attachments, "attachments") => Err(
            Failure::NotImplemented("attachments are not supported".to_owned()),
        ),
        (Keyword::PartitionKeyRanges, []) => Ok(Resource::PartitionKeyRanges(container)),
        (Keyword::PartitionKeyRanges, [id]) => Ok(Resource::PartitionKeyRange(container, id)),
        (Keyword::Operations, [name]) if is(name, "partitionkeydelete") => {
            Ok(Resource::PartitionKeyDelete(container))
        }
        (Keyword::Script(kind), []) => Ok(Resource::Scripts(container, kind)),
        (Keyword::Script(kind), [id]) => Ok(Resource::Script(container, kind, id)),
        (Keyword::Conflicts, []) => Ok(Resource::Conflicts(container)),
        (Keyword::Conflicts, [id]) => Ok(Resource::Conflict(container, id)),
        _ => Err(unparsable()),
    }
}

fn below_user<'p>(
    user: UserAddress<'p>,
    rest: &'p [Cow<'p, str>],
) -> Result<Resource<'p>, Failure> {
    let [keyword, rest @ ..] = rest else {
        return Ok(Resource::User(user));
    };
    match (Keyword::of(keyword), rest) {
        (Some(Keyword::Permissions), []) => Ok(Resource::Permissions(user)),
        (Some(Keyword::Permissions), [name]) => Ok(Resource::Permission(user.permission(name)?)),
        _ => Err(unparsable()),
    }
}

fn unparsable() -> Failure {
    Failure::bad_request("Server could not parse the Url.")
}

#[cfg(test)]
mod tests;

#[expect(clippy::needless_pass_by_value, reason = "the shape map_err asks for")]
fn not_a_rid(error: orrery_keys::RidError) -> Failure {
    Failure::BadRequest(format!(
        "Failed to parse the value '{}' as ResourceId",
        error.text
    ))
}
