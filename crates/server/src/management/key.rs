//! Checks the key of an operator's request: `Authorization: Bearer KEY`.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use orrery_model::Secret;
use subtle::ConstantTimeEq;

/// The scheme with its space. Schemes are compared in any case.
const SCHEME: &str = "bearer ";

/// Whether the request has the key. The comparison takes constant time, so that answer times do not
/// reveal a correct prefix.
pub(super) fn is_sent(headers: &HeaderMap, key: &Secret) -> bool {
    let Some(sent) = headers.get(AUTHORIZATION) else {
        return false;
    };
    let sent = sent.as_bytes();
    let Some((scheme, sent)) = sent.split_at_checked(SCHEME.len()) else {
        return false;
    };
    scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) && bool::from(sent.ct_eq(key.expose()))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_the_key_is_let_in() {
        let key = Secret::new(b"k3y".to_vec());
        assert!(!is_sent(&HeaderMap::new(), &key));
        for (sent, expected) in [
            ("Bearer k3y", true),
            ("bearer k3y", true),
            ("Bearer k3", false),
            ("Bearer k3y ", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("k3y", false),
            ("Basic k3y", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(sent));
            assert_eq!(is_sent(&headers, &key), expected, "{sent}");
        }
    }
}
