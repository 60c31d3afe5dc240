//! What a request does, told apart as finely as resource tokens are.

use http::Method;
use orrery_model::ScriptKind;

use super::Action;
use crate::headers::RequestHeaders;
use crate::path::Resource;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    ReadAccount,
    /// A database, and the list of its containers.
    ReadDatabase,
    ReadUser,
    /// The definition of a container and its partition key ranges, which every client needs before it can
    /// ask for an item.
    ReadContainer,
    /// Replaces or deletes a container.
    WriteContainer,
    /// One item by its id.
    ReadItem,
    /// Replaces, patches or deletes one item by its id.
    ChangeItem,
    /// Feeds, queries and their plans, change feeds, conflicts.
    ReadItems,
    /// Creates, batches, bulk, deletes by partition key, conflicts that are decided.
    WriteItems,
    ReadScripts,
    WriteScripts,
    RunProcedure,
    /// What needs a key of the account: the account's and databases' lists, creating and deleting databases,
    /// creating containers, users, permissions, throughput, and everything for operators.
    ManageAccount,
}

impl Deed {
    /// A new kind of resource must be given its deeds here; [`Deed::ManageAccount`] is never allowed to a token.
    pub fn of(method: &Method, resource: Resource<'_>, headers: &RequestHeaders<'_>) -> Deed {
        let reads = Action::of(method, resource, headers) == Action::Read;
        let either = |read, write| if reads { read } else { write };
        match resource {
            Resource::Account => either(Deed::ReadAccount, Deed::ManageAccount),
            Resource::Database(_) | Resource::Containers(_) => {
                either(Deed::ReadDatabase, Deed::ManageAccount)
            }
            Resource::User(_) => either(Deed::ReadUser, Deed::ManageAccount),
            Resource::Container(_) => either(Deed::ReadContainer, Deed::WriteContainer),
            Resource::PartitionKeyRanges(_) | Resource::PartitionKeyRange(..) => {
                either(Deed::ReadContainer, Deed::ManageAccount)
            }
            Resource::Item(_) => either(Deed::ReadItem, Deed::ChangeItem),
            Resource::Items(_) | Resource::Conflicts(_) | Resource::Conflict(..) => {
                either(Deed::ReadItems, Deed::WriteItems)
            }
            Resource::PartitionKeyDelete(_) => Deed::WriteItems,
            Resource::Script(_, ScriptKind::StoredProcedure, _) if *method == Method::POST => {
                Deed::RunProcedure
            }
            Resource::Scripts(..) | Resource::Script(..) => {
                either(Deed::ReadScripts, Deed::WriteScripts)
            }
            Resource::Databases
            | Resource::Users(_)
            | Resource::Permissions(_)
            | Resource::Permission(_)
            | Resource::ClientEncryptionKeys(_)
            | Resource::ClientEncryptionKey(..)
            | Resource::Offers
            | Resource::Offer(_)
            | Resource::Addresses
            | Resource::DistributedTransaction
            | Resource::Partitions(_)
            | Resource::Distribution(_)
            | Resource::Metrics
            | Resource::RequestLog => Deed::ManageAccount,
        }
    }
}
