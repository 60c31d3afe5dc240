//! Resolves the path of a URL to the resource that it names.
//!
//! Segments are positional: even ones are keywords, odd ones ids. The parser never searches for a
//! keyword, because a database may have the name `colls`. The segment after `dbs` decides for the
//! whole path whether the ids are names or resource ids.

mod keyword;

use std::borrow::Cow;

use http::Uri;
use orrery_keys::{DatabaseRid, OfferRid, is_database_rid};
use orrery_model::{
    ContainerAddress, DatabaseAddress, Failure, ItemAddress, PermissionAddress, ScriptKind,
    UserAddress,
};

use crate::percent;
pub(crate) use keyword::script_keyword;
use keyword::{Keyword, is};

/// The segments of the longest path: `dbs/d/colls/c/docs/i/attachments/a`.
const SEGMENTS_MAX: usize = 8;
/// The segments of the path of an item: `dbs/d/colls/c/docs/i`.
const ITEM_SEGMENTS: usize = 6;
/// The prefix of Orrery's own paths.
const OWN: &str = "_orrery";

/// A path, split at `/` and then decoded, without empty segments.
#[derive(Debug, Clone)]
pub struct RequestPath<'a> {
    segments: [Cow<'a, str>; SEGMENTS_MAX],
    count: usize,
    /// Whether the path began with `_orrery`, which is neither signed nor a segment.
    is_own: bool,
}

/// The resource that a path names. Feeds are named by their parent.
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
    /// The replica addresses, for clients in direct mode.
    Addresses,
    DistributedTransaction,
    /// `_orrery/…/partitions`: the physical partitions of a container, for operators.
    Partitions(ContainerAddress<'p>),
    /// `_orrery/…/throughput`: the distribution of the throughput of a container.
    Distribution(ContainerAddress<'p>),
    Metrics,
    /// `_orrery/requests`: the recent requests to the server.
    RequestLog,
}

impl Resource<'_> {
    /// Whether the resource belongs to the catalogue of the account, and not to the data of one
    /// container.
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
            // Every client reads the account document regularly, as a health check.
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

    /// Whether the resource needs a key of the account.
    pub fn is_for_operators(self) -> bool {
        matches!(
            self,
            Resource::Partitions(_)
                | Resource::Distribution(_)
                | Resource::RequestLog
                | Resource::Metrics
        )
    }

    /// Whether the resource is a list of resources, which clients can query.
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

/// The parts of a path that a client signs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SigningTarget<'p> {
    pub(crate) resource_type: &'static str,
    /// The segments of the link. Joined by `/` they are the link of a path of names.
    pub(crate) link: &'p [Cow<'p, str>],
    /// The last resource id, which a client signs alone and in lower case.
    pub(crate) rid: Option<&'p str>,
}

impl<'a> RequestPath<'a> {
    /// Parses the path of a URL, without the query string.
    pub fn parse(path: &'a str) -> Result<RequestPath<'a>, Failure> {
        let mut segments = <[Cow<'a, str>; SEGMENTS_MAX]>::default();
        let mut count = 0;
        let mut raw_segments = path.split('/').filter(|raw| !raw.is_empty()).peekable();
        let is_own = raw_segments.next_if_eq(&OWN).is_some();
        for raw in raw_segments {
            // Decoded after the split: an encoded slash belongs to its segment.
            let segment = percent::decode(raw).ok_or_else(unparsable)?;
            // The id continues after its slash.
            if count == ITEM_SEGMENTS && is_in_item_id(&segments, &segment) {
                let id = segments[ITEM_SEGMENTS - 1].to_mut();
                id.push('/');
                id.push_str(&segment);
                continue;
            }
            // A path with more segments names no resource.
            let slot = segments.get_mut(count).ok_or_else(unparsable)?;
            *slot = segment;
            count += 1;
        }
        Ok(RequestPath {
            segments,
            count,
            is_own,
        })
    }

    /// Parses the URL of a request. The JavaScript and .NET SDKs do not encode a question mark in
    /// the id of an item and sign it with the path; the URL of an item has no query string.
    pub fn of_uri(uri: &'a Uri) -> Result<RequestPath<'a>, Failure> {
        let path = RequestPath::parse(uri.path())?;
        match uri.path_and_query() {
            Some(whole) if uri.query().is_some() && path.is_of_item() => {
                RequestPath::parse(whole.as_str())
            }
            _ => Ok(path),
        }
    }

    /// Whether the path names one item.
    fn is_of_item(&self) -> bool {
        let keyword = &self.segments[ITEM_SEGMENTS - 2];
        self.count == ITEM_SEGMENTS && !self.is_own && Keyword::of(keyword) == Some(Keyword::Items)
    }

    fn segments(&self) -> &[Cow<'a, str>] {
        &self.segments[..self.count]
    }

    /// The decoded link without slashes at its ends: `dbs/d/colls/c`.
    pub fn link(&self) -> String {
        self.segments().join("/")
    }

    /// Whether the ids of the path are resource ids.
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

    /// The resource of a path below `_orrery`.
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

    /// The parts of the path that its signature covers.
    pub(crate) fn signing_target(&self) -> SigningTarget<'_> {
        let segments = self.segments();
        // Keywords are at even positions, so a path with an even number of segments ends in the id
        // of one resource.
        let (keyword, link) = match segments {
            [link @ .., keyword] if link.len() % 2 == 0 => (keyword.as_ref(), link),
            [link @ .., keyword, _] if is(keyword, "operations") => (keyword.as_ref(), link),
            [.., keyword, _] => (keyword.as_ref(), segments),
            _ => ("", segments),
        };
        let by_rid = match segments {
            // Offers have no names, so their paths always have resource ids.
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

/// Whether a segment after the path of an item belongs to the id of the item: most SDKs do not
/// encode a slash in an id.
fn is_in_item_id(segments: &[Cow<'_, str>; SEGMENTS_MAX], segment: &str) -> bool {
    let keyword = &segments[ITEM_SEGMENTS - 2];
    is(&segments[0], "dbs")
        && Keyword::of(keyword) == Some(Keyword::Items)
        && !is(segment, "attachments")
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
