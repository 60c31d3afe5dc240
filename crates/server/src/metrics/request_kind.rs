//! The kinds of requests that metrics distinguish: a few kinds, whatever clients send.

use hyper::Method;
use orrery_wire::{FeedPost, RequestHeaders, Resource};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    ReadItem,
    WriteItem,
    ReadFeed,
    Query,
    QueryPlan,
    Batch,
    DeleteByKey,
    ExecuteScript,
    Account,
    ReadMetadata,
    WriteMetadata,
    Operators,
    /// A request that the server refused before it determined the kind.
    Refused,
}

impl RequestKind {
    /// All kinds, in the order of the page.
    pub(crate) const ALL: [RequestKind; 13] = [
        RequestKind::ReadItem,
        RequestKind::WriteItem,
        RequestKind::ReadFeed,
        RequestKind::Query,
        RequestKind::QueryPlan,
        RequestKind::Batch,
        RequestKind::DeleteByKey,
        RequestKind::ExecuteScript,
        RequestKind::Account,
        RequestKind::ReadMetadata,
        RequestKind::WriteMetadata,
        RequestKind::Operators,
        RequestKind::Refused,
    ];

    /// Determines the kind of a request from its method, its resource and its headers.
    pub(crate) fn of(
        method: &Method,
        resource: Resource<'_>,
        headers: &RequestHeaders<'_>,
    ) -> RequestKind {
        let reads = *method == Method::GET;
        // A query is a POST, but it changes nothing.
        let queries = *method == Method::POST && headers.feed_post() == FeedPost::Query;
        match resource {
            Resource::Account => RequestKind::Account,
            Resource::Item(_) if reads => RequestKind::ReadItem,
            Resource::Item(_) => RequestKind::WriteItem,
            Resource::Items(_) if reads => RequestKind::ReadFeed,
            Resource::Items(_) => match headers.feed_post() {
                FeedPost::Query => RequestKind::Query,
                FeedPost::QueryPlan => RequestKind::QueryPlan,
                FeedPost::Batch => RequestKind::Batch,
                FeedPost::Upsert | FeedPost::Create => RequestKind::WriteItem,
            },
            Resource::PartitionKeyDelete(_) => RequestKind::DeleteByKey,
            Resource::Script(..) if *method == Method::POST => RequestKind::ExecuteScript,
            Resource::Partitions(_)
            | Resource::Distribution(_)
            | Resource::RequestLog
            | Resource::Metrics => RequestKind::Operators,
            Resource::Addresses | Resource::DistributedTransaction => RequestKind::Refused,
            Resource::Databases
            | Resource::Database(_)
            | Resource::Containers(_)
            | Resource::Container(_)
            | Resource::PartitionKeyRanges(_)
            | Resource::PartitionKeyRange(..)
            | Resource::Scripts(..)
            | Resource::Script(..)
            | Resource::Conflicts(_)
            | Resource::Conflict(..)
            | Resource::Users(_)
            | Resource::User(_)
            | Resource::Permissions(_)
            | Resource::Permission(_)
            | Resource::ClientEncryptionKeys(_)
            | Resource::ClientEncryptionKey(..)
            | Resource::Offers
            | Resource::Offer(_) => {
                if reads || queries {
                    RequestKind::ReadMetadata
                } else {
                    RequestKind::WriteMetadata
                }
            }
        }
    }

    /// The value of the label `operation`.
    pub(super) fn name(self) -> &'static str {
        match self {
            RequestKind::ReadItem => "read_item",
            RequestKind::WriteItem => "write_item",
            RequestKind::ReadFeed => "read_feed",
            RequestKind::Query => "query",
            RequestKind::QueryPlan => "query_plan",
            RequestKind::Batch => "batch",
            RequestKind::DeleteByKey => "delete_by_key",
            RequestKind::ExecuteScript => "execute_script",
            RequestKind::Account => "account",
            RequestKind::ReadMetadata => "read_metadata",
            RequestKind::WriteMetadata => "write_metadata",
            RequestKind::Operators => "operators",
            RequestKind::Refused => "refused",
        }
    }
}
