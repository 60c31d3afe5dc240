//! The certificate in a PEM file, and the name of the certificate in the stores.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::hex::hex;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// Digits of the digest in a name: enough that no two certificates of a machine share a name.
const NAME_DIGITS: usize = 16;

/// The first certificate of a file, which is that of the server.
pub(super) struct Pem {
    /// Only the certificate: the file may contain the private key too, which must not be copied.
    pub(super) text: String,
    pub(super) der: Vec<u8>,
}

impl Pem {
    pub(super) fn read(path: &Path) -> Result<Pem> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the certificate {}", path.display()))?;
        Pem::parse(&text).with_context(|| format!("there is no certificate in {}", path.display()))
    }

    fn parse(text: &str) -> Result<Pem> {
        let (_, rest) = text.split_once(BEGIN).context("no line begins one")?;
        let (body, _) = rest.split_once(END).context("no line ends it")?;
        let base64: String = body.split_whitespace().collect();
        let der = STANDARD.decode(base64).context("it is not base64")?;
        ensure!(!der.is_empty(), "it is empty");
        Ok(Pem {
            text: format!("{BEGIN}{body}{END}\n"),
            der,
        })
    }

    /// The SHA-256 digest in hexadecimal digits.
    pub(super) fn digest(&self) -> String {
        hex(&Sha256::digest(&self.der))
    }

    /// The file name, without extension, of every copy of this certificate.
    pub(super) fn name(&self) -> String {
        let mut digest = self.digest();
        digest.truncate(NAME_DIGITS);
        format!("orrery-{digest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_certificate_is_taken() {
        let file =
            format!("-----BEGIN KEY-----\nc2VjcmV0\n-----END KEY-----\n{BEGIN}\nAQID\n{END}\n");
        let pem = Pem::parse(&file).unwrap();
        assert_eq!(pem.text, format!("{BEGIN}\nAQID\n{END}\n"));
        assert_eq!(pem.der, [1, 2, 3]);
        assert_eq!(pem.name(), "orrery-039058c6f2c0cb49");
        for wrong in [
            "",
            BEGIN,
            &format!("{BEGIN}{END}"),
            &format!("{BEGIN}!{END}"),
        ] {
            assert!(Pem::parse(wrong).is_err(), "{wrong}");
        }
    }
}
