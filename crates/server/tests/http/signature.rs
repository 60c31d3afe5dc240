//! The signature of a request by an account key, written from the protocol's description and not
//! from the server's code.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The URL-encoded value of `Authorization`.
pub(crate) fn authorization(key: &[u8], method: &str, path: &str, date: &str) -> String {
    let (kind, link) = target(path);
    let payload = format!(
        "{}\n{kind}\n{link}\n{}\n\n",
        method.to_lowercase(),
        date.to_lowercase()
    );
    encoded(&sign(key, &payload))
}

pub(crate) fn encoded(signature: &str) -> String {
    let signature = signature
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D");
    format!("type%3Dmaster%26ver%3D1.0%26sig%3D{signature}")
}

pub(crate) fn sign(key: &[u8], payload: &str) -> String {
    let mut state = Hmac::<Sha256>::new_from_slice(key).unwrap();
    state.update(payload.as_bytes());
    STANDARD.encode(state.finalize().into_bytes())
}

/// The resource type and the link that are signed for a path.
pub(crate) fn target(path: &str) -> (String, String) {
    let mut pieces = path.split('/').filter(|piece| !piece.is_empty()).skip(4);
    let is_item = pieces.next() == Some("docs") && pieces.next().is_some();
    let is_item = is_item && pieces.next() != Some("attachments");
    // The id of an item may have a question mark or a slash; clients sign it with the rest.
    let path = path.split('?').next().filter(|_| !is_item).unwrap_or(path);
    let segments: Vec<String> = path
        .split('/')
        .filter(|segment| !segment.is_empty() && *segment != "_orrery")
        .map(decode)
        .collect();
    let count = segments.len();
    let (kind, link) = match count {
        0 => return (String::new(), String::new()),
        _ if is_item => ("docs".to_owned(), &segments[..]),
        _ if count >= 2 && segments[count - 2] == "operations" => {
            ("partitionkey".to_owned(), &segments[..count - 2])
        }
        _ if count % 2 == 1 => (segments[count - 1].to_lowercase(), &segments[..count - 1]),
        _ => (segments[count - 2].to_lowercase(), &segments[..]),
    };
    let by_rid = segments[0].eq_ignore_ascii_case("offers")
        || segments
            .get(1)
            .is_some_and(|id| id.len() == 8 && id.ends_with("=="));
    let link = if by_rid {
        link.last()
            .map_or_else(String::new, |rid| rid.to_lowercase())
    } else {
        link.join("/")
    };
    (kind, link)
}

/// Percent-decodes once; `+` stays.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let code = text
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Percent-encodes everything but letters and digits.
pub(crate) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").unwrap();
        }
        out
    })
}

#[test]
fn the_published_vectors() {
    let emulator = STANDARD
        .decode("C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==")
        .unwrap();
    let date = "Sun, 15 Nov 2026 06:00:00 GMT";
    for (method, path, signature) in [
        ("GET", "/", "fSHm0iSChCCmUutjS+R9ykz7w581jN9kD+V1c+ScSDM="),
        (
            "POST",
            "/dbs/My%20Db/colls/C1/docs",
            "Nnjz3rFomRvS7NxzulS28ebGm5p/WA2GncJQX8cDyy4=",
        ),
        (
            "GET",
            "/dbs/kRNGAA==/colls/kRNGAOrVWJo=/pkranges",
            "cT/TQTHJ9Nrr0BGL4gfBStUiiqq2gN846d+SH/PWCPo=",
        ),
    ] {
        assert_eq!(
            authorization(&emulator, method, path, date),
            encoded(signature)
        );
    }
}
