//! Verifies the credential of a request and checks that its sender may make the request.

use hyper::Method;
use orrery_engine::{Catalogue, Engine};
use orrery_model::{ContainerAddress, DatabaseAddress, Failure, ItemAddress, UserAddress};
use orrery_wire::{
    Action, Credential, Grant, GrantTarget, RequestHeaders, RequestPath, Resource, SignedRequest,
    TokenAction, check_role, token_forbidden, verify_entra,
};

use super::{Authority, Principal};
use crate::governor::ClientIdentity;
use crate::state::State;

/// A request that [`authorize`] has allowed.
pub(crate) struct AuthorizedRequest<'r> {
    pub(crate) action: Action,
    /// The resource of the request. Under a token it is addressed by resource id, so that it stays
    /// the resource that the token grants even if another resource gets its name.
    pub(crate) resource: Resource<'r>,
    pub(crate) authority: Authority<'r>,
    /// The client that pays for the memory of the request.
    pub(crate) client: ClientIdentity,
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
) -> Result<AuthorizedRequest<'r>, Failure> {
    // A path that names nothing is refused before its credential is verified: no credential makes
    // it valid.
    let resource = path.resource()?;
    authorize_resource(state, engine, method, path, resource, headers, now_seconds)
}

/// Authorizes a request for the addresses of replicas. The client has signed `path`, the path whose
/// replicas it looks for. A token that opens anything in a container opens its addresses.
pub(crate) fn authorize_addresses<'r>(
    state: &State,
    engine: &Engine,
    method: &Method,
    path: &'r RequestPath<'r>,
    headers: &mut RequestHeaders<'r>,
    now_seconds: u64,
) -> Result<AuthorizedRequest<'r>, Failure> {
    let resource = match path.resource()? {
        Resource::Items(container) => Resource::Container(container),
        Resource::Databases => Resource::Account,
        _ => {
            return Err(Failure::bad_request(
                "One of the input values is invalid. Only the items of a container and the databases of the \
                 account have replicas.",
            ));
        }
    };
    authorize_resource(state, engine, method, path, resource, headers, now_seconds)
}

/// Authorizes a request for `resource`, which its client has signed as `path`.
fn authorize_resource<'r>(
    state: &State,
    engine: &Engine,
    method: &Method,
    path: &'r RequestPath<'r>,
    resource: Resource<'r>,
    headers: &mut RequestHeaders<'r>,
    now_seconds: u64,
) -> Result<AuthorizedRequest<'r>, Failure> {
    let action = Action::of(method, resource, headers);
    // Routes can reach the selection only through the authority, so it leaves the headers here.
    let selection = headers.take_selection();
    let authorized = |resource, bearer, client| AuthorizedRequest {
        action,
        resource,
        authority: Authority { bearer, selection },
        client,
    };
    // This server has no direct mode, and says so to everybody: the answer contains no stored data.
    if resource == Resource::Addresses {
        return Ok(authorized(
            resource,
            Principal::Anonymous,
            ClientIdentity::Unauthenticated,
        ));
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
            let client = ClientIdentity::Key(signer.role);
            (signer, client)
        }
        Credential::Entra(token) => {
            let signer = verify_entra(&token, &state.keys(), now_seconds)?;
            (signer, state.governor.bearer(&token))
        }
        // The operators' part needs a key of the account, whatever the token grants.
        Credential::Resource(_) if resource.is_for_operators() => {
            return Err(Failure::Forbidden(
                "The request cannot be authorized by a resource token. Sign it with a key of the account."
                    .to_owned(),
            ));
        }
        Credential::Resource(token) => {
            let secret = state.token_secret();
            // The grant is verified before the resource is resolved: an invalid token must not
            // reveal which names exist.
            let grant = secret.verify(&token, &state.keys(), now_seconds)?;
            grant.check_action(TokenAction::of(method, resource, headers))?;
            let resource = granted(resource, &grant, &engine.catalogue())?;
            let client = state.governor.bearer(&token);
            return Ok(authorized(
                resource,
                Principal::Token(Box::new(grant)),
                client,
            ));
        }
    };
    // Only keys reach this check; a token returned above with its grant checked.
    check_role(signer.role, action, resource)?;
    Ok(authorized(resource, Principal::Account(signer), client))
}

/// The same resource, addressed by its resource id, if the grant covers it. A name of no resource
/// is refused like the name of another resource: a token must not reveal which other resources
/// exist.
fn granted<'r>(
    resource: Resource<'r>,
    grant: &Grant,
    catalogue: &Catalogue,
) -> Result<Resource<'r>, Failure> {
    // One refusal for a missing and for a foreign resource: the difference would reveal names.
    let not_covered = || token_forbidden("does not cover this resource");
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
    // A token for one script must not list the other scripts.
    let is_of_script = matches!(grant.target, GrantTarget::Script(_));
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
        // The last segment is an id or a resource id, as in the path. The function that finds the
        // script checks whether the grant covers it.
        Resource::Script(address, kind, segment) => {
            container(address)?;
            Resource::Script(address, kind, segment)
        }
        Resource::Conflicts(address) => Resource::Conflicts(container(address)?),
        Resource::Conflict(address, id) => Resource::Conflict(container(address)?, id),
        Resource::Scripts(..)
        // Every remaining resource needs a key. A new resource does not compile until it has a row
        // here.
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
