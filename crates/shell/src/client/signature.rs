//! Who sends a request, and when: its signature and its date.

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::key::Key;

/// What a signature covers, apart from the date.
#[derive(Clone, Copy)]
pub(super) struct Signed<'a> {
    pub(super) verb: &'a str,
    pub(super) resource_type: &'a str,
    pub(super) link: &'a str,
}

/// The value of `authorization`, percent-encoded as clients send it.
pub(super) fn authorization(key: &Key, signed: Signed<'_>, date: &str) -> String {
    let text = format!(
        "{}\n{}\n{}\n{}\n\n",
        signed.verb.to_ascii_lowercase(),
        signed.resource_type,
        signed.link,
        date.to_ascii_lowercase()
    );
    let mut mac = Hmac::<Sha256>::new_from_slice(key.bytes()).expect("a key of any length will do");
    mac.update(text.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F");
    format!(
        "type%3Dmaster%26ver%3D1.0%26sig%3D{}",
        signature.replace('=', "%3D")
    )
}

/// Now, as `x-ms-date` carries it.
pub(super) fn date() -> String {
    httpdate::fmt_http_date(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_vector() {
        let signed = Signed {
            verb: "POST",
            resource_type: "docs",
            link: "dbs/My Db/colls/C1",
        };
        let header = authorization(&Key::well_known(), signed, "Sun, 15 Nov 2026 06:00:00 GMT");
        let expected = "type%3Dmaster%26ver%3D1.0%26sig%3D\
                        Nnjz3rFomRvS7NxzulS28ebGm5p%2FWA2GncJQX8cDyy4%3D";
        assert_eq!(header, expected);
    }
}
