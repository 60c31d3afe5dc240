//! Tokens of Entra ID. Orrery can verify only those of the emulator.
//!
//! A token of the emulator is a JSON web token whose third part is not a signature but the account
//! key itself. Tokens of a real tenant need its public keys, so Orrery refuses them and says so.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orrery_model::Failure;

use super::{Signer, SigningKeys};

/// Verifies a token of the emulator: its key, and then its expiry.
pub fn verify_entra(token: &str, keys: &SigningKeys, now_seconds: u64) -> Result<Signer, Failure> {
    let parts: Vec<&str> = token.trim_end_matches('=').splitn(4, '.').collect();
    let [_header, claims, key] = parts.as_slice() else {
        return Err(unsupported());
    };
    let key_text = decode(key)?;
    // The key is checked before the claims: claims without it prove nothing.
    let signer = keys.signer_of_text(&key_text).ok_or_else(unsupported)?;
    let claims = orrery_json::parse(&decode(claims)?).map_err(|_| unsupported())?;
    let seconds = |name: &str| {
        claims
            .get(name)
            .as_number()
            .map(orrery_json::Number::as_f64)
    };
    let is_expired = seconds("exp").is_some_and(|expiry| expiry <= now_seconds as f64);
    if is_expired {
        return Err(Failure::Forbidden(
            "The authorization token is not valid at the current time. Please create another token \
             and retry."
                .to_owned(),
        ));
    }
    Ok(signer)
}

fn decode(part: &str) -> Result<Vec<u8>, Failure> {
    URL_SAFE_NO_PAD
        .decode(part.trim_end_matches('='))
        .map_err(|_| unsupported())
}

fn unsupported() -> Failure {
    Failure::Unauthorized(
        "The Entra token cannot be verified. Orrery accepts account keys, resource tokens, and the \
         emulator's tokens whose third part is the base64url of an account key."
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use orrery_model::{AccountKeyRole, AccountKeys, Secret};

    use super::*;

    #[test]
    fn only_tokens_with_the_key_are_accepted() {
        let secret = Secret::new(vec![7; 64]);
        let text = STANDARD.encode(secret.expose());
        let keys = SigningKeys::new(&AccountKeys {
            keys: vec![(secret, AccountKeyRole::ReadWrite)],
        });
        let token = |claims: &str, key: &str| {
            let encode = |part: &str| URL_SAFE_NO_PAD.encode(part);
            format!("{}.{}.{}", encode("{}"), encode(claims), encode(key))
        };
        let good = token(r#"{"exp":2000}"#, &text);
        let signer = verify_entra(&good, &keys, 1_000).unwrap();
        assert_eq!(signer.role, AccountKeyRole::ReadWrite);
        assert!(matches!(
            verify_entra(&good, &keys, 2_000),
            Err(Failure::Forbidden(_))
        ));
        for bad in [
            token("{}", "other"),
            "a.b".to_owned(),
            "a.b.c.d".to_owned(),
            String::new(),
        ] {
            let failure = verify_entra(&bad, &keys, 0);
            assert!(matches!(failure, Err(Failure::Unauthorized(_))), "{bad}");
        }
    }
}
