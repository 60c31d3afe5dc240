//! Paths, headers and bodies.

use http::{HeaderMap, HeaderName, HeaderValue};
use orrery_keys::{EpkRange, PartitionKey};
use orrery_model::{AccountKeyRole, AccountKeys, Secret};
use orrery_wire::{
    BatchRequest, Credential, HttpDate, PermissionRequest, QueryBody, RequestHeaders, RequestPath,
    SigningKeys, TokenSecret, parse_id_body, parse_patch, parse_session_token, verify_entra,
};

use super::text_of;

const NOW_SECONDS: u64 = 1_000_000;

/// Runs every parser of request parts on the input, whatever kind of text it is.
pub(super) fn parts(input: &[u8]) -> bool {
    let text = text_of(input);
    let keys = SigningKeys::new(&AccountKeys {
        keys: vec![(Secret::new(vec![7; 64]), AccountKeyRole::ReadWrite)],
    });
    let valid = [
        RequestPath::parse(&text).is_ok(),
        HttpDate::parse(&text).is_some(),
        Credential::parse(Some(&text)).is_ok(),
        TokenSecret::new(b"secret")
            .verify(&text, &keys, NOW_SECONDS)
            .is_ok(),
        verify_entra(&text, &keys, NOW_SECONDS).is_ok(),
        parse_session_token(&text).all(|part| part.is_ok()),
        partition_key(&text),
        QueryBody::parse(input).is_ok(),
        BatchRequest::parse(input).is_ok(),
        parse_patch(input).is_ok(),
        PermissionRequest::parse(input).is_ok(),
        parse_id_body(input).is_ok(),
    ];
    valid.contains(&true)
}

/// A parsed partition key, written as JSON, must be read as the same key.
fn partition_key(text: &str) -> bool {
    let Ok(key) = PartitionKey::parse_header(text) else {
        return false;
    };
    let again = PartitionKey::parse_header(&key.to_json());
    assert_eq!(again, Ok(key), "a key is read as another");
    true
}

/// Parses lines of a name, a colon and a value as headers.
pub(super) fn headers(input: &[u8]) -> bool {
    let mut map = HeaderMap::new();
    for line in input.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
            continue;
        };
        let name = HeaderName::from_bytes(name.trim_ascii());
        let value = HeaderValue::from_bytes(value.trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            map.insert(name, value);
        }
    }
    let Ok(mut headers) = RequestHeaders::parse(&map) else {
        return false;
    };
    let _kind = headers.feed_post();
    // The methods check their headers only when they are called.
    let selection = headers.take_selection();
    let _either = selection.partition_key();
    let _either = headers.token_lifetime_seconds();
    let _either = (headers.if_match(), headers.if_none_match());
    let _either = selection.range();
    let range = selection.epk_range();
    if let Ok(Some(range)) = range {
        let _either = range.intersect(&EpkRange::full());
    }
    true
}
