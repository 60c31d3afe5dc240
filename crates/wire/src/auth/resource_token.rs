//! Resource tokens, which clients receive with permissions.
//!
//! A token contains its whole grant and is signed, so the server stores no tokens and looks nothing
//! up: `type=resource&ver=1&sig={signature};{grant};`. The signature covers a secret of the server
//! and the account key that read the permission: when this key is replaced, the tokens made with it
//! become invalid.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use orrery_keys::{ChildRid, ContainerRid, DatabaseRid, ItemRid, PartitionKey, UserRid};
use orrery_model::{Failure, PermissionMode};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::grant::{Grant, GrantTarget, GrantedItems};
use super::master::{SigningKeys, TokenKey};

/// Signs and verifies resource tokens.
pub struct TokenSecret {
    state: Hmac<Sha256>,
}

/// The signed text. Its names are short because the token travels in a header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    t: TargetText,
    w: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<String>,
    e: u64,
    n: u64,
}

/// The target of a grant, with resource ids as text.
#[derive(Serialize, Deserialize)]
enum TargetText {
    #[serde(rename = "n")]
    Nothing,
    #[serde(rename = "d")]
    Database(String),
    #[serde(rename = "u")]
    User(String),
    #[serde(rename = "c")]
    Container(String),
    #[serde(rename = "i")]
    Items(String, Option<String>, Vec<String>),
    #[serde(rename = "s")]
    Script(String),
}

impl TokenSecret {
    /// Prepares the keyed state of the secret.
    pub fn new(secret: &[u8]) -> TokenSecret {
        let state = Hmac::new_from_slice(secret).expect("HMAC takes keys of any length");
        TokenSecret { state }
    }

    /// The text of a new token, which is valid while the account has the key `made_with`. Tokens
    /// with different nonces differ, even for the same grant.
    pub fn mint(&self, grant: &Grant, made_with: &TokenKey, nonce: u64) -> String {
        let payload = Payload {
            t: TargetText::of(&grant.target),
            w: grant.mode == PermissionMode::All,
            k: grant.partition_key.as_ref().map(PartitionKey::to_json),
            e: grant.expires_seconds,
            n: nonce,
        };
        let payload = serde_json::to_vec(&payload).expect("strings and numbers are JSON");
        let opaque = STANDARD.encode(payload);
        let signature = STANDARD.encode(self.signed(&opaque, made_with).finalize().into_bytes());
        format!("type=resource&ver=1&sig={signature};{opaque};")
    }

    /// Verifies the part of a token after `sig=`, and returns its grant.
    pub fn verify(
        &self,
        token: &str,
        keys: &SigningKeys,
        now_seconds: u64,
    ) -> Result<Grant, Failure> {
        let grant = self.open(token, keys).ok_or_else(|| {
            Failure::Unauthorized(
                "The input authorization token can't serve the request. The resource token was not \
                 issued by this account, or the account key that it was made with has been replaced since; read \
                 the permission again for a new one."
                    .to_owned(),
            )
        })?;
        // After the signature: the text of an unsigned token proves nothing about its expiry.
        if grant.expires_seconds <= now_seconds {
            return Err(Failure::Forbidden(
                "The authorization token is not valid at the current time. The resource token has \
                 expired; read the permission again for a new one."
                    .to_owned(),
            ));
        }
        Ok(grant)
    }

    fn open(&self, token: &str, keys: &SigningKeys) -> Option<Grant> {
        let (signature, rest) = token.split_once(';')?;
        // SDKs send the last semicolon or leave it out.
        let opaque = rest.strip_suffix(';').unwrap_or(rest);
        let signature = STANDARD.decode(signature).ok()?;
        // Any present key may have made the token, since the token does not name its key.
        let mut token_keys = keys.token_keys();
        let is_signed = |token_key| {
            self.signed(opaque, token_key)
                .verify_slice(&signature)
                .is_ok()
        };
        // The signature is verified before the payload is parsed, so that the parser sees only
        // payloads of this server.
        if !token_keys.any(is_signed) {
            return None;
        }
        let payload: Payload = serde_json::from_slice(&STANDARD.decode(opaque).ok()?).ok()?;
        let partition_key = match payload.k {
            Some(text) => Some(PartitionKey::parse_header(&text).ok()?),
            None => None,
        };
        Some(Grant {
            target: payload.t.read()?,
            mode: if payload.w {
                PermissionMode::All
            } else {
                PermissionMode::Read
            },
            partition_key,
            expires_seconds: payload.e,
        })
    }

    fn signed(&self, opaque: &str, token_key: &TokenKey) -> Hmac<Sha256> {
        let mut state = self.state.clone();
        // The key bytes have a fixed length, so they cannot be confused with the text that follows.
        state.update(token_key.bytes());
        state.update(opaque.as_bytes());
        state
    }
}

impl TargetText {
    fn of(target: &GrantTarget) -> TargetText {
        match target {
            GrantTarget::Nothing => TargetText::Nothing,
            GrantTarget::Database(rid) => TargetText::Database(rid.to_string()),
            GrantTarget::User(rid) => TargetText::User(rid.to_string()),
            GrantTarget::Container(rid) => TargetText::Container(rid.to_string()),
            GrantTarget::Items(items) => {
                let rids = items.rids.iter().map(ItemRid::to_string);
                TargetText::Items(
                    items.container.to_string(),
                    items.id.clone(),
                    rids.collect(),
                )
            }
            GrantTarget::Script(rid) => TargetText::Script(rid.to_string()),
        }
    }

    fn read(self) -> Option<GrantTarget> {
        Some(match self {
            TargetText::Nothing => GrantTarget::Nothing,
            TargetText::Database(rid) => GrantTarget::Database(DatabaseRid::parse(&rid).ok()?),
            TargetText::User(rid) => GrantTarget::User(UserRid::parse(&rid).ok()?),
            TargetText::Container(rid) => GrantTarget::Container(ContainerRid::parse(&rid).ok()?),
            TargetText::Items(container, id, rids) => {
                let rids = rids.iter().map(|rid| ItemRid::parse(rid).ok());
                GrantTarget::Items(GrantedItems {
                    container: ContainerRid::parse(&container).ok()?,
                    id,
                    rids: rids.collect::<Option<_>>()?,
                })
            }
            TargetText::Script(rid) => GrantTarget::Script(ChildRid::parse(&rid).ok()?),
        })
    }
}

impl std::fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use orrery_keys::ChildKind;
    use orrery_model::{AccountKeyRole, AccountKeys, Secret};

    use super::*;

    fn keys(keys: &[(&[u8], AccountKeyRole)]) -> SigningKeys {
        let keys = keys
            .iter()
            .map(|(secret, role)| (Secret::new(secret.to_vec()), *role));
        SigningKeys::new(&AccountKeys {
            keys: keys.collect(),
        })
    }

    fn signature(token: &str) -> &str {
        token.strip_prefix("type=resource&ver=1&sig=").unwrap()
    }

    #[test]
    fn tokens_come_back_until_they_expire() {
        let secret = TokenSecret::new(b"secret");
        let keys = keys(&[(b"primary", AccountKeyRole::ReadWrite)]);
        let token_key = *keys.token_keys().next().unwrap();
        let database = DatabaseRid::new(7);
        let container = ContainerRid::new(database, 1);
        for target in [
            GrantTarget::Nothing,
            GrantTarget::Database(database),
            GrantTarget::User(UserRid::new(database, 3)),
            GrantTarget::Container(container),
            GrantTarget::Items(GrantedItems {
                container,
                id: Some("é".to_owned()),
                rids: vec![ItemRid::new(container, 5)],
            }),
            GrantTarget::Script(ChildRid::new(container, ChildKind::StoredProcedure, 2)),
        ] {
            let given = Grant {
                target,
                mode: PermissionMode::All,
                partition_key: Some(PartitionKey::parse_header("[\"é\"]").unwrap()),
                expires_seconds: 1_000,
            };
            let token = secret.mint(&given, &token_key, 1);
            assert_ne!(token, secret.mint(&given, &token_key, 2));
            let sig = signature(&token);
            assert_eq!(secret.verify(sig, &keys, 999), Ok(given));
            let late = secret.verify(sig, &keys, 1_000);
            assert!(matches!(late, Err(Failure::Forbidden(_))));
            let other = TokenSecret::new(b"other").verify(sig, &keys, 0);
            assert!(matches!(other, Err(Failure::Unauthorized(_))));
            for bad in ["", ";", "a;b;", &sig[1..], &sig.replace(';', "")] {
                let failure = secret.verify(bad, &keys, 0);
                assert!(matches!(failure, Err(Failure::Unauthorized(_))), "{bad}");
            }
        }
    }

    #[test]
    fn a_token_lives_as_long_as_the_key_it_was_made_with() {
        use AccountKeyRole::{ReadOnly, ReadWrite};
        let secret = TokenSecret::new(b"secret");
        let grant = Grant {
            target: GrantTarget::Nothing,
            mode: PermissionMode::Read,
            partition_key: None,
            expires_seconds: 1_000,
        };
        let (one, two, three) = (&b"one"[..], &b"two"[..], &b"three"[..]);
        let before = keys(&[(one, ReadWrite), (two, ReadWrite)]);
        let tokens: Vec<_> = before
            .token_keys()
            .map(|token_key| secret.mint(&grant, token_key, 1))
            .collect();
        for (after, expected) in [
            (vec![(one, ReadWrite), (two, ReadWrite)], [true, true]),
            (vec![(two, ReadWrite), (one, ReadWrite)], [true, true]),
            (vec![(three, ReadWrite), (two, ReadWrite)], [false, true]),
            (vec![(one, ReadWrite), (three, ReadWrite)], [true, false]),
            (vec![(one, ReadOnly), (two, ReadWrite)], [false, true]),
            (vec![], [false, false]),
        ] {
            let after = keys(&after);
            for (token, expected) in tokens.iter().zip(expected) {
                let found = secret.verify(signature(token), &after, 0).is_ok();
                assert_eq!(found, expected, "{after:?}");
            }
        }
    }
}
