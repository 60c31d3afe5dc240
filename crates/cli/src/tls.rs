//! Which certificate to serve with: `auto`, `off`, or `CERT,KEY`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tls {
    /// A certificate of our own making.
    Auto,
    Off,
    /// Files in PEM format.
    Files {
        certificate: PathBuf,
        key: PathBuf,
    },
}

impl FromStr for Tls {
    type Err = String;

    fn from_str(text: &str) -> Result<Tls, String> {
        match text {
            "auto" => Ok(Tls::Auto),
            "off" => Ok(Tls::Off),
            _ => match text.split_once(',') {
                Some((certificate, key)) if !certificate.is_empty() && !key.is_empty() => {
                    Ok(Tls::Files {
                        certificate: certificate.into(),
                        key: key.into(),
                    })
                }
                _ => Err(format!(
                    "'{text}' does not name a certificate; use auto, off, or CERT,KEY with two PEM files"
                )),
            },
        }
    }
}

impl fmt::Display for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tls::Auto => f.write_str("auto"),
            Tls::Off => f.write_str("off"),
            Tls::Files { certificate, key } => {
                write!(f, "{},{}", certificate.display(), key.display())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates() {
        assert_eq!("auto".parse(), Ok(Tls::Auto));
        assert_eq!("off".parse(), Ok(Tls::Off));
        let files = Tls::Files {
            certificate: "a.pem".into(),
            key: "b.pem".into(),
        };
        assert_eq!("a.pem,b.pem".parse(), Ok(files));
        for text in ["", "on", "a.pem", "a.pem,", ",b.pem"] {
            assert!(text.parse::<Tls>().is_err(), "{text}");
        }
    }
}
