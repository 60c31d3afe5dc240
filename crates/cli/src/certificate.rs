//! The certificate to serve with.
//!
//! One of our own making is made once and kept in the data directory, so that a client which trusts
//! it does so after a restart as well. In memory only the certificate goes to a file, for clients
//! to trust; its key stays in the process.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use orrery_server::{TlsMaterial, self_signed};
use tempfile::TempDir;

use crate::private_file;
use crate::tls::Tls;

const CERTIFICATE_NAME: &str = "certificate.pem";
const KEY_NAME: &str = "certificate-key.pem";

/// Deletes its temporary file, if it has one, when dropped.
pub(crate) struct Certificate {
    pub(crate) material: TlsMaterial,
    pub(crate) path: PathBuf,
    _temporary: Option<TempDir>,
}

/// None when TLS is off. A missing `directory` means a server in memory.
pub(crate) fn load(
    tls: &Tls,
    directory: Option<&Path>,
    names: &[String],
) -> Result<Option<Certificate>> {
    match (tls, directory) {
        (Tls::Off, _) => Ok(None),
        (Tls::Files { certificate, key }, _) => read(certificate.clone(), key).map(Some),
        (Tls::Auto, Some(directory)) => kept(directory, names).map(Some),
        (Tls::Auto, None) => temporary(names).map(Some),
    }
}

fn read(certificate: PathBuf, key: &Path) -> Result<Certificate> {
    let text = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let material = TlsMaterial {
        certificate_pem: text(&certificate)?,
        key_pem: text(key)?,
    };
    Ok(Certificate {
        material,
        path: certificate,
        _temporary: None,
    })
}

fn kept(directory: &Path, names: &[String]) -> Result<Certificate> {
    let (path, key) = (directory.join(CERTIFICATE_NAME), directory.join(KEY_NAME));
    if path.exists() && key.exists() {
        return read(path, &key);
    }
    let material = make(names)?;
    private_file::write(&key, material.key_pem.as_bytes())?;
    write_certificate(&path, &material)?;
    Ok(Certificate {
        material,
        path,
        _temporary: None,
    })
}

fn temporary(names: &[String]) -> Result<Certificate> {
    let directory = tempfile::Builder::new()
        .prefix("orrery-")
        .tempdir()
        .context("cannot make a temporary directory for the certificate")?;
    let material = make(names)?;
    let path = directory.path().join(CERTIFICATE_NAME);
    write_certificate(&path, &material)?;
    Ok(Certificate {
        material,
        path,
        _temporary: Some(directory),
    })
}

fn make(names: &[String]) -> Result<TlsMaterial> {
    self_signed(names).context("cannot make a certificate")
}

fn write_certificate(path: &Path, material: &TlsMaterial) -> Result<()> {
    fs::write(path, &material.certificate_pem)
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_auto(directory: Option<&Path>) -> Certificate {
        load(&Tls::Auto, directory, &["localhost".to_owned()])
            .unwrap()
            .unwrap()
    }

    #[test]
    fn a_certificate_is_made_once_for_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let first = load_auto(Some(directory.path()));
        let second = load_auto(Some(directory.path()));
        assert_eq!(
            first.material.certificate_pem,
            second.material.certificate_pem
        );
        assert_eq!(first.material.key_pem, second.material.key_pem);
        let files = Tls::Files {
            certificate: first.path.clone(),
            key: directory.path().join(KEY_NAME),
        };
        let third = load(&files, None, &[]).unwrap().unwrap();
        assert_eq!(
            first.material.certificate_pem,
            third.material.certificate_pem
        );
    }

    #[test]
    fn in_memory_only_the_certificate_is_a_file_and_only_for_a_while() {
        let certificate = load_auto(None);
        let path = certificate.path.clone();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            certificate.material.certificate_pem
        );
        assert!(!path.with_file_name(KEY_NAME).exists());
        drop(certificate);
        assert!(!path.exists());
    }

    #[test]
    fn a_missing_file_is_named() {
        let files = Tls::Files {
            certificate: "no-such.pem".into(),
            key: "key.pem".into(),
        };
        let Err(error) = load(&files, None, &[]) else {
            panic!("it was read")
        };
        assert!(error.to_string().contains("no-such.pem"), "{error}");
        assert!(load(&Tls::Off, None, &[]).unwrap().is_none());
    }
}
