//! The `Authorization` header: `type={master|resource|aad}&ver=1.0&sig=…`, URL-encoded or raw.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orrery_model::Failure;

use crate::percent;

/// The credential of a request. It prints as its kind only: a token of Entra ID contains an account
/// key.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential<'a> {
    Master(Signature),
    /// The text after `sig=`.
    Resource(Cow<'a, str>),
    /// A JSON web token.
    Entra(Cow<'a, str>),
}

impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::Master(_) => "Master(..)",
            Credential::Resource(_) => "Resource(..)",
            Credential::Entra(_) => "Entra(..)",
        })
    }
}

/// An HMAC-SHA256 of the request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub(crate) [u8; 32]);

/// The buffer for the text of a signature, which has 44 characters.
const SIGNATURE_TEXT_MAX: usize = 64;

impl<'a> Credential<'a> {
    /// Parses the header. `None` or an empty value is a request without a credential.
    pub fn parse(header: Option<&'a str>) -> Result<Credential<'a>, Failure> {
        let text = header
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .ok_or_else(missing)?;
        // The header is split before it is decoded, so that decoded characters cannot act as
        // separators.
        let (kind, signature) = fields(text).ok_or_else(malformed)?;
        // SDKs encode the whole header or nothing. Base64 contains no percent sign, so an encoded
        // equals sign decides.
        let is_encoded = contains_encoded_equals(text);
        let decoded = || {
            if is_encoded {
                percent::decode(signature).ok_or_else(malformed)
            } else {
                Ok(Cow::Borrowed(signature))
            }
        };
        if kind.eq_ignore_ascii_case("master") {
            Signature::parse(signature, is_encoded).map(Credential::Master)
        } else if kind.eq_ignore_ascii_case("resource") {
            decoded().map(Credential::Resource)
        } else if kind.eq_ignore_ascii_case("aad") {
            decoded().map(Credential::Entra)
        } else {
            Err(malformed())
        }
    }
}

impl Signature {
    /// Decodes the signature on the stack: this function runs for every request.
    fn parse(text: &str, is_encoded: bool) -> Result<Signature, Failure> {
        let mut plain = [0; SIGNATURE_TEXT_MAX];
        let mut length = 0;
        let mut push = |byte: u8| {
            // A longer text cannot be a signature.
            *plain.get_mut(length).ok_or_else(malformed)? = byte;
            length += 1;
            Ok::<(), Failure>(())
        };
        if is_encoded {
            for byte in percent::decoded_bytes(text) {
                push(byte.ok_or_else(malformed)?)?;
            }
        } else {
            text.bytes().try_for_each(push)?;
        }
        let mut bytes = [0; SIGNATURE_TEXT_MAX];
        let length = STANDARD
            .decode_slice(&plain[..length], &mut bytes)
            // Anything but 32 bytes is no HMAC-SHA256.
            .map_err(|_| malformed())?;
        bytes[..length]
            .try_into()
            .map(Signature)
            .map_err(|_| malformed())
    }
}

/// The type, and the text after `sig=`.
fn fields(text: &str) -> Option<(&str, &str)> {
    let rest = strip_name(text, "type")?;
    let (kind, rest) = split_at_ampersand(rest)?;
    let (_version, rest) = split_at_ampersand(strip_name(rest, "ver")?)?;
    Some((kind, strip_name(rest, "sig")?))
}

/// The text after a name and its equals sign, which may be encoded.
fn strip_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(name)?;
    ["=", "%3d", "%3D"]
        .into_iter()
        .find_map(|equals| rest.strip_prefix(equals))
}

fn split_at_ampersand(text: &str) -> Option<(&str, &str)> {
    text.split_once("%26").or_else(|| text.split_once('&'))
}

fn contains_encoded_equals(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|window| window.eq_ignore_ascii_case(b"%3d"))
}

fn missing() -> Failure {
    Failure::Unauthorized(
        "Required Header authorization is missing. Ensure a valid Authorization token is passed."
            .to_owned(),
    )
}

fn malformed() -> Failure {
    Failure::Unauthorized(
        "Authorization header doesn't confirm to the required format. Please verify and try again."
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE: &str = "fSHm0iSChCCmUutjS+R9ykz7w581jN9kD+V1c+ScSDM=";

    #[test]
    fn encoded_and_raw_are_one() {
        let raw = format!("type=master&ver=1.0&sig={SIGNATURE}");
        let upper = raw
            .replace('+', "%2B")
            .replace('=', "%3D")
            .replace('&', "%26");
        let lower = raw
            .replace('+', "%2b")
            .replace('=', "%3d")
            .replace('&', "%26");
        let expected = Credential::parse(Some(&raw)).unwrap();
        assert!(matches!(expected, Credential::Master(_)));
        assert_eq!(Credential::parse(Some(&upper)), Ok(expected.clone()));
        assert_eq!(Credential::parse(Some(&lower)), Ok(expected));
    }

    #[test]
    fn tokens_are_taken_whole() {
        for (header, expected) in [
            (
                "type=resource&ver=1&sig=a=;b=;",
                Credential::Resource("a=;b=;".into()),
            ),
            (
                "type%3Dresource%26ver%3D1%26sig%3Da%3D%3Bb%3B",
                Credential::Resource("a=;b;".into()),
            ),
            (
                "type=aad&ver=1.0&sig=e.f.g",
                Credential::Entra("e.f.g".into()),
            ),
        ] {
            assert_eq!(Credential::parse(Some(header)), Ok(expected), "{header}");
        }
    }

    #[test]
    fn what_is_no_credential_is_unauthorized() {
        for header in [
            None,
            Some(""),
            Some("Bearer x"),
            Some("type=sas&ver=1.0&sig=x"),
            Some("type=master&ver=1.0&sig=x"),
            Some("type=master&ver=1.0"),
            Some("type%3Dmaster%26ver%3D1.0%26sig%3D%zz"),
        ] {
            let failure = Credential::parse(header).unwrap_err();
            assert!(matches!(failure, Failure::Unauthorized(_)), "{header:?}");
        }
    }

    #[test]
    fn debug_output_hides_credentials() {
        for (header, expected) in [
            ("type=aad&ver=1.0&sig=e.f.c2VjcmV0", "Entra(..)"),
            ("type=resource&ver=1&sig=c2VjcmV0", "Resource(..)"),
        ] {
            let credential = Credential::parse(Some(header)).unwrap();
            assert_eq!(format!("{credential:?}"), expected);
        }
    }
}
