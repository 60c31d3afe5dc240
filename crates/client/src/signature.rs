//! Signatures with an account key.
//!
//! Each request is for another resource, so each request is signed. The two hash blocks that depend
//! only on the key are computed once and cloned for each request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Key;

/// The length of 32 bytes in base64.
const SIGNATURE_BYTES: usize = 44;

/// An account key, prepared for many signatures.
#[derive(Clone)]
pub struct Signer {
    keyed: Hmac<Sha256>,
}

/// The signed parts of a request, apart from the date.
#[derive(Clone, Copy)]
pub struct SignaturePayload<'a> {
    /// The method of the request in lower case.
    pub verb: &'a str,
    pub resource_type: &'a str,
    pub link: &'a str,
}

impl Signer {
    /// Computes the part of the hash that depends only on the key.
    pub fn new(key: &Key) -> Signer {
        Signer {
            keyed: Hmac::new_from_slice(key.bytes()).expect("a key of any length will do"),
        }
    }

    /// The value of the `authorization` header.
    pub fn authorization(&self, signed: SignaturePayload<'_>, date_lower_case: &str) -> String {
        let mut value = Vec::new();
        self.authorize(&mut value, signed, date_lower_case);
        String::from_utf8(value).expect("a percent-encoded signature is ASCII")
    }

    /// Appends the value of the `authorization` header, percent-encoded as SDKs send it.
    pub fn authorize(
        &self,
        out: &mut Vec<u8>,
        signed: SignaturePayload<'_>,
        date_lower_case: &str,
    ) {
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

    /// The signature in base64.
    fn sign(&self, signed: SignaturePayload<'_>, date_lower_case: &str) -> [u8; SIGNATURE_BYTES] {
        let mut mac = self.keyed.clone();
        // The empty line stands for the `date` header, which `x-ms-date` replaces.
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
            let signer = Signer::new(&key.parse().unwrap());
            let signature = signer.sign(
                SignaturePayload {
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
        let signed = SignaturePayload {
            verb: "get",
            resource_type: "",
            link: "",
        };
        Signer::new(&Key::well_known()).authorize(&mut header, signed, DATE);
        assert_eq!(
            String::from_utf8(header).unwrap(),
            "type%3Dmaster%26ver%3D1.0%26sig%3DfSHm0iSChCCmUutjS%2BR9ykz7w581jN9kD%2BV1c%2BScSDM%3D"
        );
    }
}
