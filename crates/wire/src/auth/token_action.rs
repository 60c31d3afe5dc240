//! The actions of requests, distinguished as finely as resource tokens need.

use http::Method;
use orrery_model::ScriptKind;

use super::Action;
use crate::headers::RequestHeaders;
use crate::path::Resource;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAction {
    ReadAccount,
    /// Reads a database, or the list of its containers.
    ReadDatabase,
    ReadUser,
    /// Reads the definition of a container or its partition key ranges, which every client needs
    /// before it can request an item.
    ReadContainer,
    /// Replaces or deletes a container.
    WriteContainer,
    /// Reads one item by its id.
    ReadItem,
    /// Replaces, patches or deletes one item by its id.
    ChangeItem,
    /// Reads feeds, queries and their plans, change feeds, conflicts.
    ReadItems,
    /// Writes through creates, batches, bulk requests and deletes by partition key, and deletes
    /// decided conflicts.
    WriteItems,
    ReadScripts,
    WriteScripts,
    RunProcedure,
    /// Needs a key of the account: lists of the account and of databases, creating and deleting
    /// databases, creating containers, users, permissions, throughput, and all operators' requests.
    ManageAccount,
}

impl TokenAction {
    /// The action of a request. Every kind of resource has a row here; no token allows
    /// [`TokenAction::ManageAccount`].
    pub fn of(
        method: &Method,
        resource: Resource<'_>,
        headers: &RequestHeaders<'_>,
    ) -> TokenAction {
        // A query is a `POST` and still a read.
        let reads = Action::of(method, resource, headers) == Action::Read;
        let either = |read, write| if reads { read } else { write };
        match resource {
            Resource::Account => either(TokenAction::ReadAccount, TokenAction::ManageAccount),
            Resource::Database(_) | Resource::Containers(_) => {
                either(TokenAction::ReadDatabase, TokenAction::ManageAccount)
            }
            Resource::User(_) => either(TokenAction::ReadUser, TokenAction::ManageAccount),
            Resource::Container(_) => {
                either(TokenAction::ReadContainer, TokenAction::WriteContainer)
            }
            Resource::PartitionKeyRanges(_) | Resource::PartitionKeyRange(..) => {
                either(TokenAction::ReadContainer, TokenAction::ManageAccount)
            }
            Resource::Item(_) => either(TokenAction::ReadItem, TokenAction::ChangeItem),
            Resource::Items(_) | Resource::Conflicts(_) | Resource::Conflict(..) => {
                either(TokenAction::ReadItems, TokenAction::WriteItems)
            }
            Resource::PartitionKeyDelete(_) => TokenAction::WriteItems,
            Resource::Script(_, ScriptKind::StoredProcedure, _) if *method == Method::POST => {
                TokenAction::RunProcedure
            }
            Resource::Scripts(..) | Resource::Script(..) => {
                either(TokenAction::ReadScripts, TokenAction::WriteScripts)
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
            | Resource::RequestLog => TokenAction::ManageAccount,
        }
    }
}
