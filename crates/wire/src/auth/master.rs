//! Signatures with the keys of the account.
//!
//! The signed text is fed to the hash piece by piece, and the keyed states are made once, so that a
//! verification allocates nothing. A client may sign a path of resource ids by its last id alone or
//! by the whole path; both are accepted.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::Method;
use orrery_model::{AccountKeyRole, AccountKeys, Failure, limits};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use super::Signature;
use crate::HttpDate;
use crate::path::{RequestPath, SigningTarget};

/// The keys of the account, prepared for the verification of signatures.
pub struct SigningKeys {
    keys: Vec<SigningKey>,
}

struct SigningKey {
    state: Hmac<Sha256>,
    /// The key in base64, which the emulator's Entra tokens contain.
    text: String,
    signer: Signer,
}

/// The key that signed a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signer {
    pub role: AccountKeyRole,
    pub token_key: TokenKey,
}

/// Bytes that the server derives from an account key. The account key cannot be computed from these
/// bytes. The server signs resource tokens with them, so that a token becomes invalid when the
/// account key that signed it is replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenKey([u8; 32]);

impl TokenKey {
    fn of(key: &Hmac<Sha256>) -> TokenKey {
        let mut state = key.clone();
        // The constant text separates these bytes from every request signature with the same key.
        state.update(b"orrery resource tokens");
        TokenKey(state.finalize().into_bytes().into())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

/// The parts of a request that its signature covers.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'r> {
    pub method: &'r Method,
    pub path: &'r RequestPath<'r>,
    pub x_ms_date: Option<&'r str>,
    pub date: Option<&'r str>,
}

/// The resource link, between the resource type and the date.
#[derive(Clone, Copy)]
enum ResourceLink<'r> {
    Path(&'r [Cow<'r, str>]),
    Rid(&'r str),
}

impl SigningKeys {
    /// Prepares the keyed states, so that each key is hashed once and not for every request.
    pub fn new(account: &AccountKeys) -> SigningKeys {
        let key = |(secret, role): &(orrery_model::Secret, AccountKeyRole)| {
            let state =
                Hmac::new_from_slice(secret.expose()).expect("HMAC takes keys of any length");
            SigningKey {
                signer: Signer {
                    role: *role,
                    token_key: TokenKey::of(&state),
                },
                state,
                text: STANDARD.encode(secret.expose()),
            }
        };
        SigningKeys {
            keys: account.keys.iter().map(key).collect(),
        }
    }

    /// Finds the key that made the signature, and then checks the date.
    pub fn verify(
        &self,
        signature: &Signature,
        request: SignedRequest<'_>,
        now_seconds: u64,
    ) -> Result<Signer, Failure> {
        let date = request
            .x_ms_date
            .or(request.date)
            .ok_or_else(date_missing)?;
        // The server derives the signed text from the path, and never from a header of the client.
        let target = request.path.signing_target();
        let signer = self.signer(signature, request, target).or_else(|| {
            // The Java SDK signs a delete by partition key as a request to the container.
            let as_container = SigningTarget {
                resource_type: "colls",
                ..target
            };
            (target.resource_type == "partitionkey")
                .then(|| self.signer(signature, request, as_container))?
        });
        let signer = signer.ok_or_else(|| {
            Failure::Unauthorized(format!(
                "The input authorization token can't serve the request. Please check that the \
                 expected payload is built as per the protocol, and check the key being used. \
                 Server used the following payload to sign: '{}'",
                // The message contains the expected text, as in Cosmos DB: authors of clients
                // compare it with theirs.
                payload_text(request, target)
            ))
        })?;
        // The date is checked after the signature, so that only the holder of a key sees the time of
        // the server in the refusal.
        check_date(date, now_seconds)?;
        Ok(signer)
    }

    fn signer(
        &self,
        signature: &Signature,
        request: SignedRequest<'_>,
        target: SigningTarget<'_>,
    ) -> Option<Signer> {
        let links = [
            target.rid.map(ResourceLink::Rid),
            Some(ResourceLink::Path(target.link)),
        ];
        links.into_iter().flatten().find_map(|link| {
            self.keys
                .iter()
                .find(|key| key.signs(signature, request, target, link))
                .map(|key| key.signer)
        })
    }

    /// The key with this base64 text.
    pub fn signer_of_text(&self, text: &[u8]) -> Option<Signer> {
        self.keys
            .iter()
            // In constant time, so that the answer time does not reveal a correct prefix.
            .find(|key| bool::from(key.text.as_bytes().ct_eq(text)))
            .map(|key| key.signer)
    }

    /// The token keys of the account keys that may make resource tokens.
    pub(super) fn token_keys(&self) -> impl Iterator<Item = &TokenKey> {
        let signers = self.keys.iter().map(|key| &key.signer);
        signers
            .filter(|signer| signer.role == AccountKeyRole::ReadWrite)
            .map(|signer| &signer.token_key)
    }
}

impl std::fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKeys({})", self.keys.len())
    }
}

impl SigningKey {
    fn signs(
        &self,
        signature: &Signature,
        request: SignedRequest<'_>,
        target: SigningTarget<'_>,
        link: ResourceLink<'_>,
    ) -> bool {
        // Cloning the keyed state is cheaper than hashing the key again for each request.
        let mut state = self.state.clone();
        write_payload(request, target, link, &mut |piece| state.update(piece));
        // `verify_slice` compares in constant time.
        state.verify_slice(&signature.0).is_ok()
    }
}

/// Writes the signed text piece by piece: method, resource type, link, dates.
fn write_payload(
    request: SignedRequest<'_>,
    target: SigningTarget<'_>,
    link: ResourceLink<'_>,
    write: &mut dyn FnMut(&[u8]),
) {
    write_lower(request.method.as_str(), write);
    write(b"\n");
    write(target.resource_type.as_bytes());
    write(b"\n");
    match link {
        ResourceLink::Rid(rid) => write_lower(rid, write),
        ResourceLink::Path(segments) => {
            for (index, segment) in segments.iter().enumerate() {
                if index > 0 {
                    write(b"/");
                }
                write(segment.as_bytes());
            }
        }
    }
    write(b"\n");
    write_lower(request.x_ms_date.unwrap_or_default(), write);
    write(b"\n");
    // The date header is signed only without `x-ms-date`.
    if request.x_ms_date.is_none() {
        write_lower(request.date.unwrap_or_default(), write);
    }
    write(b"\n");
}

fn write_lower(text: &str, write: &mut dyn FnMut(&[u8])) {
    let mut buffer = [0; 32];
    // In pieces of a fixed buffer, so that lower case needs no allocation.
    for chunk in text.as_bytes().chunks(buffer.len()) {
        let lower = &mut buffer[..chunk.len()];
        lower.copy_from_slice(chunk);
        lower.make_ascii_lowercase();
        write(lower);
    }
}

fn payload_text(request: SignedRequest<'_>, target: SigningTarget<'_>) -> String {
    let mut payload = Vec::new();
    let link = target
        .rid
        .map_or(ResourceLink::Path(target.link), ResourceLink::Rid);
    write_payload(request, target, link, &mut |piece| {
        payload.extend_from_slice(piece);
    });
    String::from_utf8_lossy(&payload).into_owned()
}

/// Refuses a signature that is too old or too far in the future, which limits the replay of
/// recorded requests.
fn check_date(date: &str, now_seconds: u64) -> Result<(), Failure> {
    let HttpDate(signed) = HttpDate::parse(date).ok_or_else(|| {
        Failure::Unauthorized(
            "The input date header is invalid format. Please pass in RFC 1123 style date format."
                .to_owned(),
        )
    })?;
    if signed.abs_diff(now_seconds) <= limits::CLOCK_SKEW_SECONDS_MAX {
        return Ok(());
    }
    Err(Failure::Forbidden(format!(
        "The authorization token is not valid at the current time. Please create another token and \
         retry (token start time: {}, current server time: {}).",
        HttpDate(signed),
        HttpDate(now_seconds)
    )))
}

fn date_missing() -> Failure {
    Failure::Unauthorized(
        "The input authorization token can't serve the request. The x-ms-date or date header must \
         be present."
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use orrery_model::Secret;

    use super::*;
    use crate::Credential;

    const EMULATOR_KEY: &str =
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
    const DOCUMENTATION_KEY: &str =
        "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw==";
    const DATE: &str = "Sun, 15 Nov 2026 06:00:00 GMT";

    fn keys(texts: &[(&str, AccountKeyRole)]) -> SigningKeys {
        let keys = texts
            .iter()
            .map(|(text, role)| (Secret::new(STANDARD.decode(text).unwrap()), *role))
            .collect();
        SigningKeys::new(&AccountKeys { keys })
    }

    fn verify(
        keys: &SigningKeys,
        method: &Method,
        path: &str,
        date: &str,
        signature: &str,
    ) -> Result<AccountKeyRole, Failure> {
        let header = format!("type=master&ver=1.0&sig={signature}");
        let Ok(Credential::Master(signature)) = Credential::parse(Some(&header)) else {
            panic!("{header}");
        };
        let path = RequestPath::parse(path).unwrap();
        let request = SignedRequest {
            method,
            path: &path,
            x_ms_date: Some(date),
            date: Some("x"),
        };
        let signer = keys.verify(&signature, request, HttpDate::parse(DATE).unwrap().0);
        signer.map(|signer| signer.role)
    }

    #[test]
    fn a_token_key_is_not_printed() {
        let key = TokenKey([7; 32]);
        assert_eq!(format!("{key:?}"), "TokenKey(..)");
    }

    #[test]
    fn published_signatures_verify() {
        let keys = keys(&[
            (DOCUMENTATION_KEY, AccountKeyRole::ReadOnly),
            (EMULATOR_KEY, AccountKeyRole::ReadWrite),
        ]);
        for (method, path, signature) in [
            (
                Method::GET,
                "/",
                "fSHm0iSChCCmUutjS+R9ykz7w581jN9kD+V1c+ScSDM=",
            ),
            (
                Method::POST,
                "/dbs/My%20Db/colls/C1/docs/",
                "Nnjz3rFomRvS7NxzulS28ebGm5p/WA2GncJQX8cDyy4=",
            ),
            (
                Method::GET,
                "//dbs/kRNGAA==/colls/kRNGAOrVWJo=/pkranges",
                "cT/TQTHJ9Nrr0BGL4gfBStUiiqq2gN846d+SH/PWCPo=",
            ),
        ] {
            assert_eq!(
                verify(&keys, &method, path, DATE, signature),
                Ok(AccountKeyRole::ReadWrite),
                "{path}"
            );
            let failure = verify(&keys, &Method::PUT, path, DATE, signature).unwrap_err();
            assert!(
                matches!(&failure, Failure::Unauthorized(text) if text.contains("payload to sign: 'put\n"))
            );
        }
    }

    #[test]
    fn the_date_must_be_near() {
        let keys = keys(&[(DOCUMENTATION_KEY, AccountKeyRole::ReadOnly)]);
        let date = "Thu, 27 Apr 2017 00:51:12 GMT";
        let signature = "c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+c+c=";
        let failure = verify(&keys, &Method::GET, "/dbs/ToDoList", date, signature).unwrap_err();
        assert!(matches!(&failure, Failure::Forbidden(text)
            if text.starts_with("The authorization token is not valid at the current time.")));
        for (date, now, expected) in [
            (DATE, 0, true),
            (DATE, 900, true),
            (DATE, 901, false),
            ("yesterday", 0, false),
        ] {
            let now = HttpDate::parse(DATE).unwrap().0 + now;
            assert_eq!(check_date(date, now).is_ok(), expected, "{date} {now}");
        }
    }

    #[test]
    fn links_that_are_signed() {
        let payload = |path: &str| {
            let path = RequestPath::parse(path).unwrap();
            let request = SignedRequest {
                method: &Method::GET,
                path: &path,
                x_ms_date: None,
                date: Some("D"),
            };
            payload_text(request, path.signing_target())
        };
        for (path, expected) in [
            ("/", "get\n\n\n\nd\n"),
            ("/dbs", "get\ndbs\n\n\nd\n"),
            ("/dbs/Db", "get\ndbs\ndbs/Db\n\nd\n"),
            ("/dbs/Db/colls", "get\ncolls\ndbs/Db\n\nd\n"),
            ("/dbs/Db/colls/docs", "get\ncolls\ndbs/Db/colls/docs\n\nd\n"),
            (
                "/dbs/Db/users/U/permissions",
                "get\npermissions\ndbs/Db/users/U\n\nd\n",
            ),
            ("/offers", "get\noffers\n\n\nd\n"),
            ("/_orrery/requests", "get\nrequests\n\n\nd\n"),
            ("/offers/E+p7", "get\noffers\ne+p7\n\nd\n"),
            (
                "/dbs/d/colls/C/operations/partitionkeydelete",
                "get\npartitionkey\ndbs/d/colls/C\n\nd\n",
            ),
            ("/dbs/operations/colls", "get\ncolls\ndbs/operations\n\nd\n"),
            (
                "/dbs/d/colls/operations",
                "get\ncolls\ndbs/d/colls/operations\n\nd\n",
            ),
            ("/dbs/kRNGAA==", "get\ndbs\nkrngaa==\n\nd\n"),
        ] {
            assert_eq!(payload(path), expected, "{path}");
        }
    }
}
