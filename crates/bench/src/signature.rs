//! Master-key signatures.
//!
//! Each request names another resource, so each is signed. The two hash blocks that depend only on
//! the key are computed once and copied per request.

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Base64 of 32 bytes.
const SIGNATURE_BYTES: usize = 44;

#[derive(Clone)]
pub struct Signer {
    keyed: Hmac<Sha256>,
}

/// What a signature covers, apart from the date.
#[derive(Clone, Copy)]
pub struct Signed<'a> {
    pub verb: &'a str,
    pub resource_type: &'a str,
    pub link: &'a str,
}

impl Signer {
    pub fn new(key: &str) -> Result<Self> {
        let key = STANDARD
            .decode(key)
            .context("the account key is not base64")?;
        Ok(Self::of_bytes(&key))
    }

    pub fn of_bytes(key: &[u8]) -> Self {
        Self {
            keyed: Hmac::new_from_slice(key).expect("a key of any length will do"),
        }
    }

    /// Appends the value of the `authorization` header, percent-encoded as clients send it.
    pub fn authorize(&self, out: &mut Vec<u8>, signed: Signed<'_>, date_lower_case: &str) {
        out.extend_from_slice(b"type%3Dmaster%26ver%3D1.0%26sig%3D");
        for byte in self.sign(signed, date_lower_case) {
            match byte {
                b'+' => out.extend_from_slice(b"%2B"),
                b'/' => out.extend_from_slice(b"%2F"),
                b'=' => out.extend_from_slice(b"%3D"),
                _ => out.push(byte),
            }
        }
    }

    fn sign(&self, signed: Signed<'_>, date_lower_case: &str) -> [u8; SIGNATURE_BYTES] {
        let mut mac = self.keyed.clone();
        for line in [
            signed.verb,
            signed.resource_type,
            signed.link,
            date_lower_case,
            "",
        ] {
            mac.update(line.as_bytes());
            mac.update(b"\n");
        }
        let mut text = [0; SIGNATURE_BYTES];
        STANDARD
            .encode_slice(mac.finalize().into_bytes(), &mut text)
            .expect("32 bytes are 44 characters of base64");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMULATOR: &str =
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
    const DOCUMENTED: &str =
        "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw==";
    const DATE: &str = "sun, 15 nov 2026 06:00:00 gmt";

    #[test]
    fn published_vectors() {
        let cases = [
            (
                EMULATOR,
                ["get", "", ""],
                DATE,
                "fSHm0iSChCCmUutjS+R9ykz7w581jN9kD+V1c+ScSDM=",
            ),
            (
                EMULATOR,
                ["post", "docs", "dbs/My Db/colls/C1"],
                DATE,
                "Nnjz3rFomRvS7NxzulS28ebGm5p/WA2GncJQX8cDyy4=",
            ),
            (
                EMULATOR,
                ["get", "pkranges", "krngaorvwjo="],
                DATE,
                "cT/TQTHJ9Nrr0BGL4gfBStUiiqq2gN846d+SH/PWCPo=",
            ),
            (
                DOCUMENTED,
                ["get", "dbs", "dbs/ToDoList"],
                "thu, 27 apr 2017 00:51:12 gmt",
                "c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+c+c=",
            ),
        ];
        for (key, [verb, resource_type, link], date, expected) in cases {
            let signer = Signer::new(key).unwrap();
            let signature = signer.sign(
                Signed {
                    verb,
                    resource_type,
                    link,
                },
                date,
            );
            assert_eq!(std::str::from_utf8(&signature).unwrap(), expected, "{link}");
        }
    }

    #[test]
    fn header_is_percent_encoded() {
        let mut header = Vec::new();
        let signed = Signed {
            verb: "get",
            resource_type: "",
            link: "",
        };
        Signer::new(EMULATOR)
            .unwrap()
            .authorize(&mut header, signed, DATE);
        assert_eq!(
            String::from_utf8(header).unwrap(),
            "type%3Dmaster%26ver%3D1.0%26sig%3DfSHm0iSChCCmUutjS%2BR9ykz7w581jN9kD%2BV1c%2BScSDM%3D"
        );
    }

    #[test]
    fn key_must_be_base64() {
        assert!(Signer::new("no key!").is_err());
    }
}
