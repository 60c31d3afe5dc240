//! Resource tokens: what a permission hands out.
//!
//! A token carries its whole grant and is signed, so nothing is looked up when it comes back:
//! `type=resource&ver=1&sig={signature};{grant};`. The signature takes a secret of the server and the key of
//! the account that the permission was read with: when that key is replaced, the tokens made with it end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use orrery_keys::{ChildRid, ContainerRid, DatabaseRid, ItemRid, PartitionKey, UserRid};
use orrery_model::{Failure, PermissionMode};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::grant::{Grant, GrantedItems, Target};
use super::master::{KeyMark, SigningKeys};

/// Signs and checks resource tokens.
pub struct TokenSecret {
    state: Hmac<Sha256>,
}

/// The signed text. Names are short because the token travels in a header.
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
    pub fn new(secret: &[u8]) -> TokenSecret {
        let state = Hmac::new_from_slice(secret).expect("HMAC takes keys of any length");
        TokenSecret { state }
    }

    /// The text of a new token, good for as long as the account has the key `made_with`. Tokens with different
    /// nonces differ, even for the same grant.
    pub fn mint(&self, grant: &Grant, made_with: &KeyMark, nonce: u64) -> String {
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

    /// Reads the part of a token after `sig=`.
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
        let opaque = rest.strip_suffix(';').unwrap_or(rest);
        let signature = STANDARD.decode(signature).ok()?;
        let mut marks = keys.token_marks();
        let is_signed = |mark| self.signed(opaque, mark).verify_slice(&signature).is_ok();
        if !marks.any(is_signed) {
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

    fn signed(&self, opaque: &str, mark: &KeyMark) -> Hmac<Sha256> {
        let mut state = self.state.clone();
        state.update(mark.bytes());
        state.update(opaque.as_bytes());
        state
    }
}

impl TargetText {
    fn of(target: &Target) -> TargetText {
        match target {
            Target::Nothing => TargetText::Nothing,
            Target::Database(rid) => TargetText::Database(rid.to_string()),
            Target::User(rid) => TargetText::User(rid.to_string()),
            Target::Container(rid) => TargetText::Container(rid.to_string()),
            Target::Items(items) => {
                let rids = items.rids.iter().map(ItemRid::to_string);
                TargetText::Items(
                    items.container.to_string(),
                    items.id.clone(),
                    rids.collect(),
                )
            }
            Target::Script(rid) => TargetText::Script(rid.to_string()),
        }
    }

    fn read(self) -> Option<Target> {
        Some(match self {
            TargetText::Nothing => Target::Nothing,
            TargetText::Database(rid) => Target::Database(DatabaseRid::parse(&rid).ok()?),
            TargetText::User(rid) => Target::User(UserRid::parse(&rid).ok()?),
            TargetText::Container(rid) => Target::Container(ContainerRid::parse(&rid).ok()?),
            TargetText::Items(container, id, rids) => {
                let rids = rids.iter().map(|rid| ItemRid::parse(rid).ok());
                Target::Items(GrantedItems {
                    container: ContainerRid::parse(&container).ok()?,
                    id,
                    rids: rids.collect::<Option<_>>()?,
                })
            }
            TargetText::Script(rid) => Target::Script(ChildRid::parse(&rid).ok()?),
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
    use orrery_model::{AccountKeys, KeyRole, Secret};

    use super::*;

    fn keys(keys: &[(&[u8], KeyRole)]) -> SigningKeys {
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
        let keys = keys(&[(b"primary", KeyRole::ReadWrite)]);
        let mark = *keys.token_marks().next().unwrap();
        let database = DatabaseRid::new(7);
        let container = ContainerRid::new(database, 1);
        for target in [
            Target::Nothing,
            Target::Database(database),
            Target::User(UserRid::new(database, 3)),
            Target::Container(container),
            Target::Items(GrantedItems {
                container,
                id: Some("é".to_owned()),
                rids: vec![ItemRid::new(container, 5)],
            }),
            Target::Script(ChildRid::new(container, ChildKind::StoredProcedure, 2)),
        ] {
            let given = Grant {
                target,
                mode: PermissionMode::All,
                partition_key: Some(PartitionKey::parse_header("[\"é\"]").unwrap()),
                expires_seconds: 1_000,
            };
            let token = secret.mint(&given, &mark, 1);
            assert_ne!(token, secret.mint(&given, &mark, 2));
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
        use KeyRole::{ReadOnly, ReadWrite};
        let secret = TokenSecret::new(b"secret");
        let grant = Grant {
            target: Target::Nothing,
            mode: PermissionMode::Read,
            partition_key: None,
            expires_seconds: 1_000,
        };
        let (one, two, three) = (&b"one"[..], &b"two"[..], &b"three"[..]);
        let before = keys(&[(one, ReadWrite), (two, ReadWrite)]);
        let tokens: Vec<_> = before
            .token_marks()
            .map(|mark| secret.mint(&grant, mark, 1))
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
