//! Resource tokens: what a permission hands out.
//!
//! A token carries its whole grant, signed with a secret of the server, so nothing is looked up when
//! it comes back: `type=resource&ver=1&sig={signature};{grant};`. The grant may name its resource
//! both ways, since a client may address by name what was granted by resource id.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use orrery_keys::PartitionKey;
use orrery_model::{Failure, PermissionMode};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::Action;
use crate::path::{RequestPath, Resource};

/// Signs and checks resource tokens.
pub struct TokenSecret {
    state: Hmac<Sha256>,
}

/// What the bearer of a token may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Link of the resource, by name or by resource id.
    pub resource: String,
    /// The same resource addressed the other way, where the server knew it.
    pub alias: Option<String>,
    pub mode: PermissionMode,
    pub partition_key: Option<PartitionKey>,
    pub expires_seconds: u64,
}

/// What a request wants to do.
#[derive(Debug, Clone, Copy)]
pub struct Access<'r> {
    pub path: &'r RequestPath<'r>,
    pub action: Action,
    pub partition_key: Option<&'r PartitionKey>,
}

/// The signed text. Names are short because the token travels in a header.
#[derive(Serialize, Deserialize)]
struct Payload {
    r: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<String>,
    w: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<String>,
    e: u64,
    n: u64,
}

impl TokenSecret {
    pub fn new(secret: &[u8]) -> TokenSecret {
        let state = Hmac::new_from_slice(secret).expect("HMAC takes keys of any length");
        TokenSecret { state }
    }

    /// The text of a new token. Tokens with different nonces differ, even for the same grant.
    pub fn mint(&self, grant: &Grant, nonce: u64) -> String {
        let payload = Payload {
            r: grant.resource.clone(),
            a: grant.alias.clone(),
            w: grant.mode == PermissionMode::All,
            k: grant.partition_key.as_ref().map(PartitionKey::to_json),
            e: grant.expires_seconds,
            n: nonce,
        };
        let payload = serde_json::to_vec(&payload).expect("strings and numbers are JSON");
        let opaque = STANDARD.encode(payload);
        let mut state = self.state.clone();
        state.update(opaque.as_bytes());
        let signature = STANDARD.encode(state.finalize().into_bytes());
        format!("type=resource&ver=1&sig={signature};{opaque};")
    }

    /// Reads the part of a token after `sig=`.
    pub fn verify(&self, token: &str, now_seconds: u64) -> Result<Grant, Failure> {
        let grant = self.open(token).ok_or_else(|| {
            Failure::Unauthorized(
                "The input authorization token can't serve the request. The resource token was not \
                 issued by this account."
                    .to_owned(),
            )
        })?;
        if grant.expires_seconds <= now_seconds {
            return Err(Failure::Forbidden(
                "The authorization token is not valid at the current time. The resource token has \
                 expired; read the permission again for a new one."
                    .to_owned(),
            ));
        }
        Ok(grant)
    }

    fn open(&self, token: &str) -> Option<Grant> {
        let (signature, rest) = token.split_once(';')?;
        let opaque = rest.strip_suffix(';').unwrap_or(rest);
        let signature = STANDARD.decode(signature).ok()?;
        let mut state = self.state.clone();
        state.update(opaque.as_bytes());
        state.verify_slice(&signature).ok()?;
        let payload: Payload = serde_json::from_slice(&STANDARD.decode(opaque).ok()?).ok()?;
        let partition_key = match payload.k {
            Some(text) => Some(PartitionKey::parse_header(&text).ok()?),
            None => None,
        };
        Some(Grant {
            resource: payload.r,
            alias: payload.a,
            mode: if payload.w {
                PermissionMode::All
            } else {
                PermissionMode::Read
            },
            partition_key,
            expires_seconds: payload.e,
        })
    }
}

impl std::fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenSecret(..)")
    }
}

impl Grant {
    /// Whether the grant covers the request; every token may read the account.
    pub fn allows(&self, access: Access<'_>) -> Result<(), Failure> {
        let resource = access.path.resource()?;
        if resource == Resource::Account && access.action == Action::Read {
            return Ok(());
        }
        let is_covered = access.path.is_within(&self.resource)
            || self
                .alias
                .as_ref()
                .is_some_and(|alias| access.path.is_within(alias));
        if !is_covered || resource == Resource::Account {
            return Err(refused("does not cover this resource"));
        }
        if access.action == Action::Write && self.mode == PermissionMode::Read {
            return Err(refused("allows reading only"));
        }
        self.allows_key(resource, access.partition_key)
    }

    fn allows_key(
        &self,
        resource: Resource<'_>,
        requested: Option<&PartitionKey>,
    ) -> Result<(), Failure> {
        let touches_items = matches!(
            resource,
            Resource::Items(_)
                | Resource::Item(_)
                | Resource::PartitionKeyDelete(_)
                | Resource::Scripts(..)
                | Resource::Script(..)
                | Resource::Conflicts(_)
                | Resource::Conflict(..)
        );
        match &self.partition_key {
            Some(granted) if touches_items && requested != Some(granted) => {
                Err(refused("is for another partition key"))
            }
            _ => Ok(()),
        }
    }
}

fn refused(why: &str) -> Failure {
    Failure::Forbidden(format!(
        "Insufficient permissions provided in the authorization header: the resource token {why}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(resource: &str, mode: PermissionMode, key: Option<&str>) -> Grant {
        Grant {
            resource: resource.to_owned(),
            alias: None,
            mode,
            partition_key: key.map(|text| PartitionKey::parse_header(text).unwrap()),
            expires_seconds: 1_000,
        }
    }

    #[test]
    fn tokens_come_back_until_they_expire() {
        let secret = TokenSecret::new(b"secret");
        let mut given = grant("dbs/d/colls/c", PermissionMode::All, Some("[\"é\"]"));
        given.alias = Some("dbs/kRNGAA==/colls/kRNGAOrVWJo=/".to_owned());
        let token = secret.mint(&given, 1);
        assert_ne!(token, secret.mint(&given, 2));
        let sig = token.strip_prefix("type=resource&ver=1&sig=").unwrap();
        assert_eq!(secret.verify(sig, 999), Ok(given));
        assert!(matches!(
            secret.verify(sig, 1_000),
            Err(Failure::Forbidden(_))
        ));
        let other = TokenSecret::new(b"other");
        assert!(matches!(
            other.verify(sig, 0),
            Err(Failure::Unauthorized(_))
        ));
        for bad in ["", ";", "a;b;", &sig[1..], &sig.replace(';', "")] {
            assert!(
                matches!(secret.verify(bad, 0), Err(Failure::Unauthorized(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn grants_reach_no_further_than_their_resource() {
        use Action::{Read, Write};
        use PermissionMode::All;
        let container = "dbs/d/colls/c";
        let item = "dbs/d/colls/c/docs/i";
        for (resource, mode, granted_key, path, action, key, expected) in [
            (container, PermissionMode::Read, None, "/", Read, None, true),
            (
                container,
                PermissionMode::Read,
                None,
                "/dbs",
                Read,
                None,
                false,
            ),
            (
                container,
                PermissionMode::Read,
                None,
                "/dbs/d",
                Read,
                None,
                false,
            ),
            (
                container,
                PermissionMode::Read,
                None,
                "/dbs/d/colls/c",
                Read,
                None,
                true,
            ),
            (
                container,
                PermissionMode::Read,
                None,
                "/dbs/d/colls/c2",
                Read,
                None,
                false,
            ),
            (
                container,
                PermissionMode::Read,
                None,
                "/dbs/d/colls/c/pkranges",
                Read,
                None,
                true,
            ),
            (
                container,
                PermissionMode::Read,
                None,
                "/dbs/d/colls/c/docs",
                Read,
                None,
                true,
            ),
            (
                container,
                PermissionMode::Read,
                None,
                "/dbs/d/colls/c/docs/i",
                Write,
                None,
                false,
            ),
            (
                container,
                All,
                None,
                "/dbs/d/colls/c/docs/i",
                Write,
                None,
                true,
            ),
            (
                container,
                All,
                Some("[1]"),
                "/dbs/d/colls/c/docs/i",
                Write,
                Some("[1]"),
                true,
            ),
            (
                container,
                All,
                Some("[1]"),
                "/dbs/d/colls/c/docs/i",
                Read,
                Some("[2]"),
                false,
            ),
            (
                container,
                All,
                Some("[1]"),
                "/dbs/d/colls/c/docs",
                Read,
                None,
                false,
            ),
            (
                container,
                All,
                Some("[1]"),
                "/dbs/d/colls/c",
                Read,
                None,
                true,
            ),
            (item, All, None, "/dbs/d/colls/c/docs/i", Write, None, true),
            (item, All, None, "/dbs/d/colls/c/docs/j", Read, None, false),
            (item, All, None, "/dbs/d/colls/c", Read, None, false),
            ("", All, None, "/", Write, None, false),
            ("/", All, None, "/dbs/d", Read, None, false),
        ] {
            let path = RequestPath::parse(path).unwrap();
            let key = key.map(|text| PartitionKey::parse_header(text).unwrap());
            let access = Access {
                path: &path,
                action,
                partition_key: key.as_ref(),
            };
            let allowed = grant(resource, mode, granted_key).allows(access).is_ok();
            assert_eq!(allowed, expected, "{resource} {mode:?} {access:?}");
        }
    }
}
