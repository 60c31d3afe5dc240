//! What requests are told apart by: a few kinds, whatever clients send.

use hyper::Method;
use orrery_wire::{FeedPost, RequestHeaders, Resource};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
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
    /// Not understood or not allowed, before it was known what it was to do.
    Refused,
}

impl Operation {
    pub(crate) const ALL: [Operation; 13] = [
        Operation::ReadItem,
        Operation::WriteItem,
        Operation::ReadFeed,
        Operation::Query,
        Operation::QueryPlan,
        Operation::Batch,
        Operation::DeleteByKey,
        Operation::ExecuteScript,
        Operation::Account,
        Operation::ReadMetadata,
        Operation::WriteMetadata,
        Operation::Operators,
        Operation::Refused,
    ];

    pub(crate) fn of(
        method: &Method,
        resource: Resource<'_>,
        headers: &RequestHeaders<'_>,
    ) -> Operation {
        let reads = *method == Method::GET;
        let queries = *method == Method::POST && headers.feed_post() == FeedPost::Query;
        match resource {
            Resource::Account => Operation::Account,
            Resource::Item(_) if reads => Operation::ReadItem,
            Resource::Item(_) => Operation::WriteItem,
            Resource::Items(_) if reads => Operation::ReadFeed,
            Resource::Items(_) => match headers.feed_post() {
                FeedPost::Query => Operation::Query,
                FeedPost::QueryPlan => Operation::QueryPlan,
                FeedPost::Batch => Operation::Batch,
                FeedPost::Upsert | FeedPost::Create => Operation::WriteItem,
            },
            Resource::PartitionKeyDelete(_) => Operation::DeleteByKey,
            Resource::Script(..) if *method == Method::POST => Operation::ExecuteScript,
            Resource::Partitions(_)
            | Resource::Distribution(_)
            | Resource::RequestLog
            | Resource::Metrics => Operation::Operators,
            Resource::Addresses | Resource::DistributedTransaction => Operation::Refused,
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
                    Operation::ReadMetadata
                } else {
                    Operation::WriteMetadata
                }
            }
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::ReadItem => "read_item",
            Operation::WriteItem => "write_item",
            Operation::ReadFeed => "read_feed",
            Operation::Query => "query",
            Operation::QueryPlan => "query_plan",
            Operation::Batch => "batch",
            Operation::DeleteByKey => "delete_by_key",
            Operation::ExecuteScript => "execute_script",
            Operation::Account => "account",
            Operation::ReadMetadata => "read_metadata",
            Operation::WriteMetadata => "write_metadata",
            Operation::Operators => "operators",
            Operation::Refused => "refused",
        }
    }
}
