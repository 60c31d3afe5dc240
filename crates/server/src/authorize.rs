//! Who asks, and may they.

use hyper::Method;
use orrery_model::Failure;
use orrery_wire::{
    Access, Action, Credential, RequestHeaders, RequestPath, Resource, SignedRequest, check_role,
    verify_entra,
};

use crate::governor::Client;
use crate::state::State;

/// What the request does and for whom, if its sender may do it.
pub(crate) fn authorize(
    state: &State,
    method: &Method,
    path: &RequestPath<'_>,
    resource: Resource<'_>,
    headers: &RequestHeaders<'_>,
    now_seconds: u64,
) -> Result<(Action, Client), Failure> {
    let action = Action::of(method, resource, headers);
    let client = match Credential::parse(headers.authorization)? {
        Credential::Master(signature) => {
            let request = SignedRequest {
                method,
                path,
                x_ms_date: headers.x_ms_date,
                date: headers.date,
            };
            let role = state.keys().verify(&signature, request, now_seconds)?;
            check_role(role, action, resource)?;
            Client::Key(role)
        }
        Credential::Entra(token) => {
            let role = verify_entra(&token, &state.keys(), now_seconds)?;
            check_role(role, action, resource)?;
            state.governor.bearer(&token)
        }
        Credential::Resource(_) if resource.is_for_operators() => {
            return Err(Failure::Forbidden(
                "The request cannot be authorized by a resource token. Sign it with a key of the account."
                    .to_owned(),
            ));
        }
        Credential::Resource(token) => {
            let grant = state.token_secret().verify(&token, now_seconds)?;
            let key = headers.partition_key()?;
            grant.allows(Access {
                path,
                action,
                partition_key: key.as_ref(),
            })?;
            state.governor.bearer(&token)
        }
    };
    Ok((action, client))
}
