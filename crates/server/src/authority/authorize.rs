//! Verifies the credential of a request and checks that its sender may make the request.

use hyper::Method;
use orrery_engine::{Catalogue, Engine};
use orrery_model::{ContainerAddress, DatabaseAddress, Failure, ItemAddress, UserAddress};
use orrery_wire::{
    Action, Credential, Deed, Grant, RequestHeaders, RequestPath, Resource, SignedRequest, Target,
    check_role, refused, verify_entra,
};

use super::{Authority, Bearer};
use crate::governor::Client;
use crate::state::State;

/// A request that [`authorize`] has allowed.
pub(crate) struct Authorized<'r> {
    pub(crate) action: Action,
    /// Under a token named by resource id, so that it stays the resource that was granted.
    pub(crate) resource: Resource<'r>,
    pub(crate) authority: Authority<'r>,
    /// Who pays for the memory.
    pub(crate) client: Client,
}

/// Moves the partition key, the range and the effective partition keys that `headers` select into
/// the [`Authority`], so that routes get them only with the checks of the authority.
pub(crate) fn authorize<'r>(
    state: &State,
    engine: &Engine,
    method: &Method,
    path: &'r RequestPath<'r>,
    headers: &mut RequestHeaders<'r>,
    now_seconds: u64,
) -> Result<Authorized<'r>, Failure> {
    let resource = path.resource()?;
    let action = Action::of(method, resource, headers);
    let selection = headers.take_selection();
    let authorized = |resource, bearer, client| Authorized {
        action,
        resource,
        authority: Authority { bearer, selection },
        client,
    };
    // A client in direct mode signs another path; it is told about gateway mode either way.
    if resource == Resource::Addresses {
        return Ok(authorized(resource, Bearer::Anybody, Client::Stranger));
    }
    let (signer, client) = match Credential::parse(headers.authorization)? {
        Credential::Master(signature) => {
            let request = SignedRequest {
                method,
                path,
                x_ms_date: headers.x_ms_date,
                date: headers.date,
            };
            let signer = state.keys().verify(&signature, request, now_seconds)?;
            let client = Client::Key(signer.role);
            (signer, client)
        }
        Credential::Entra(token) => {
            let signer = verify_entra(&token, &state.keys(), now_seconds)?;
            (signer, state.governor.bearer(&token))
        }
        Credential::Resource(_) if resource.is_for_operators() => {
            return Err(Failure::Forbidden(
                "The request cannot be authorized by a resource token. Sign it with a key of the account."
                    .to_owned(),
            ));
        }
        Credential::Resource(token) => {
            let secret = state.token_secret();
            let grant = secret.verify(&token, &state.keys(), now_seconds)?;
            grant.check_deed(Deed::of(method, resource, headers))?;
            let resource = granted(resource, &grant, &engine.catalogue())?;
            let client = state.governor.bearer(&token);
            return Ok(authorized(resource, Bearer::Token(Box::new(grant)), client));
        }
    };
    check_role(signer.role, action, resource)?;
    Ok(authorized(resource, Bearer::Account(signer), client))
}

/// The same resource by its resource id, if the grant covers it. A name that leads nowhere is refused like
/// one that leads elsewhere: a token does not tell what else there is.
fn granted<'r>(
    resource: Resource<'r>,
    grant: &Grant,
    catalogue: &Catalogue,
) -> Result<Resource<'r>, Failure> {
    let not_covered = || refused("does not cover this resource");
    let container = |address: ContainerAddress<'r>| {
        let found = catalogue.container(address).ok();
        let rid = found.map(|(_, entry)| entry.container.rid);
        rid.filter(|rid| grant.covers_container(*rid))
            .map(ContainerAddress::Rid)
            .ok_or_else(not_covered)
    };
    let database = |address: DatabaseAddress<'r>| {
        let found = catalogue.database(address).ok();
        let rid = found.map(|entry| entry.database.rid);
        rid.filter(|rid| grant.covers_database(*rid))
            .map(DatabaseAddress::Rid)
            .ok_or_else(not_covered)
    };
    let is_of_script = matches!(grant.target, Target::Script(_));
    Ok(match resource {
        Resource::Account => Resource::Account,
        Resource::Database(address) => Resource::Database(database(address)?),
        Resource::Containers(address) => Resource::Containers(database(address)?),
        Resource::User(address) => {
            let found = catalogue.user(address).ok();
            let rid = found.map(|(_, entry)| entry.user.rid);
            let rid = rid.filter(|rid| grant.covers_user(*rid));
            Resource::User(UserAddress::Rid(rid.ok_or_else(not_covered)?))
        }
        Resource::Container(address) => Resource::Container(container(address)?),
        Resource::PartitionKeyRanges(address) => Resource::PartitionKeyRanges(container(address)?),
        Resource::PartitionKeyRange(address, id) => {
            Resource::PartitionKeyRange(container(address)?, id)
        }
        Resource::Items(address) => Resource::Items(container(address)?),
        Resource::Item(address) => {
            let container = container(address.container())?;
            Resource::Item(match address {
                ItemAddress::Name { id, .. } => ItemAddress::Name { container, id },
                ItemAddress::Rid(_) => address,
            })
        }
        Resource::PartitionKeyDelete(address) => Resource::PartitionKeyDelete(container(address)?),
        Resource::Scripts(address, kind) if !is_of_script => {
            Resource::Scripts(container(address)?, kind)
        }
        // Its last segment is an id or a resource id as the path has it; whoever finds the script looks
        // whether it is covered.
        Resource::Script(address, kind, segment) => {
            container(address)?;
            Resource::Script(address, kind, segment)
        }
        Resource::Conflicts(address) => Resource::Conflicts(container(address)?),
        Resource::Conflict(address, id) => Resource::Conflict(container(address)?, id),
        Resource::Scripts(..)
        | Resource::Databases
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
        | Resource::RequestLog => return Err(not_covered()),
    })
}
