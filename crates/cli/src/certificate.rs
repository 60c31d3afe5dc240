//! The certificate to serve with.
//!
//! A certificate that the server makes itself is kept in the data directory, so that a client that
//! trusts the certificate still trusts the server after a restart. The server makes a new
//! certificate when the present one nears its end, when the names of the machine have changed, and
//! when an older version made the certificate in another form; the server checks for this at its
//! start and while it runs. A server in memory writes only the certificate to a file, for clients
//! to trust; the private key stays in the process. Files that the settings name are read again when
//! they change, so that another program can renew the certificate.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use orrery_server::{TlsIdentity, TlsMaterial, check_self_signed, self_signed};
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::tls::Tls;
use crate::{private_file, secret_file};

pub(crate) const CERTIFICATE_NAME: &str = "certificate.pem";
const KEY_NAME: &str = "certificate-key.pem";
const POLL_PERIOD: Duration = Duration::from_mins(1);

/// Deletes its temporary file, if it has one, when dropped.
pub(crate) struct Certificate {
    pub(crate) identity: TlsIdentity,
    pub(crate) path: PathBuf,
    origin: Origin,
    _temporary: Option<TempDir>,
}

enum Origin {
    /// The server makes it for these names; the key is in a file unless the server is in memory.
    Own {
        names: Vec<String>,
        key: Option<PathBuf>,
    },
    Files {
        key: PathBuf,
    },
}

/// None when TLS is off. A missing `directory` means a server in memory.
pub(crate) fn load(
    tls: &Tls,
    directory: Option<&Path>,
    names: Vec<String>,
) -> Result<Option<Certificate>> {
    match (tls, directory) {
        (Tls::Off, _) => Ok(None),
        (Tls::Files { certificate, key }, _) => {
            from_files(certificate.clone(), key.clone()).map(Some)
        }
        (Tls::Auto, Some(directory)) => {
            from_directory(directory, &names, SystemTime::now()).map(Some)
        }
        (Tls::Auto, None) => temporary(names).map(Some),
    }
}

impl Certificate {
    /// Whether the server made this certificate itself, so that clients reject it until a user
    /// trusts it.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.origin, Origin::Own { .. })
    }

    /// Shows a new certificate if the present one must be renewed or its files have changed.
    /// Returns whether the server shows another certificate now.
    fn refresh(&self, now: SystemTime) -> Result<bool> {
        let shown = self.identity.material();
        let material = match &self.origin {
            Origin::Files { key } => {
                let material = read(&self.path, key)?;
                // Replacing the material makes new handshakes parse it again, so unchanged files
                // are skipped.
                if material == shown {
                    return Ok(false);
                }
                self.identity.replace(material)?;
                return Ok(true);
            }
            Origin::Own { names, .. } => {
                if check_self_signed(&shown, names, now).is_ok() {
                    return Ok(false);
                }
                make(names, now)?
            }
        };
        // The files are written before connections use the new certificate: a client that is told
        // to trust the file finds the certificate that the server shows.
        self.origin.store(&self.path, &material)?;
        self.identity.replace(material)?;
        Ok(true)
    }
}

impl Origin {
    /// The key first: a certificate without its key is made anew at the next start.
    fn store(&self, path: &Path, material: &TlsMaterial) -> Result<()> {
        if let Origin::Own { key: Some(key), .. } = self {
            private_file::write(key, material.key_pem.as_bytes())?;
        }
        fs::write(path, &material.certificate_pem)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Looks every minute whether it is time for another certificate, forever.
pub(crate) async fn watch(certificate: Arc<Certificate>) {
    let mut ticks = interval(POLL_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reported = None;
    loop {
        ticks.tick().await;
        // Reading files blocks, and a network file system can block for long.
        let watched = Arc::clone(&certificate);
        let Ok(refreshed) = spawn_blocking(move || watched.refresh(SystemTime::now())).await else {
            return;
        };
        let path = certificate.path.display();
        match refreshed {
            Ok(is_new) => {
                if is_new {
                    tracing::warn!(%path, "clients are shown another certificate from now on");
                }
                reported = None;
            }
            Err(error) => {
                let error = format!("{error:#}");
                // The same failure repeats every minute; the log reports it once.
                if reported.as_ref() != Some(&error) {
                    tracing::error!(%path, %error, "the certificate stays as it was");
                    reported = Some(error);
                }
            }
        }
    }
}

fn read(certificate: &Path, key: &Path) -> Result<TlsMaterial> {
    let cannot_read = |path: &Path| format!("cannot read {}", path.display());
    Ok(TlsMaterial {
        certificate_pem: fs::read_to_string(certificate)
            .with_context(|| cannot_read(certificate))?,
        key_pem: secret_file::read(key).with_context(|| cannot_read(key))?,
    })
}

fn from_files(path: PathBuf, key: PathBuf) -> Result<Certificate> {
    let identity = TlsIdentity::new(read(&path, &key)?)?;
    secret_file::warn_of_readers(&key);
    Ok(Certificate {
        identity,
        path,
        origin: Origin::Files { key },
        _temporary: None,
    })
}

fn from_directory(directory: &Path, names: &[String], now: SystemTime) -> Result<Certificate> {
    let (path, key) = (directory.join(CERTIFICATE_NAME), directory.join(KEY_NAME));
    let mut found = None;
    // A certificate without its key, or the reverse, is left by a crash between the two writes.
    if path.exists() && key.exists() {
        let material = read(&path, &key)?;
        match check_self_signed(&material, names, now) {
            Ok(()) => found = Some(material),
            Err(error) => tracing::warn!(
                path = %path.display(),
                reason = %error,
                "the certificate is made anew; clients that trusted the one before must trust this one"
            ),
        }
    }
    let origin = Origin::Own {
        names: names.to_vec(),
        key: Some(key),
    };
    let material = match found {
        Some(material) => material,
        None => {
            let material = make(names, now)?;
            origin.store(&path, &material)?;
            material
        }
    };
    Ok(Certificate {
        identity: TlsIdentity::new(material)?,
        path,
        origin,
        _temporary: None,
    })
}

fn temporary(names: Vec<String>) -> Result<Certificate> {
    let directory = tempfile::Builder::new()
        .prefix("orrery-")
        .tempdir()
        .context("cannot make a temporary directory for the certificate")?;
    let material = make(&names, SystemTime::now())?;
    let path = directory.path().join(CERTIFICATE_NAME);
    let origin = Origin::Own { names, key: None };
    // Only the certificate is written: `Origin::Own` without a key path keeps the key in memory.
    origin.store(&path, &material)?;
    Ok(Certificate {
        identity: TlsIdentity::new(material)?,
        path,
        origin,
        _temporary: Some(directory),
    })
}

fn make(names: &[String], now: SystemTime) -> Result<TlsMaterial> {
    self_signed(names, now).context("cannot make a certificate")
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn local() -> Vec<String> {
        vec!["localhost".to_owned()]
    }

    fn load_auto(directory: Option<&Path>) -> Certificate {
        load(&Tls::Auto, directory, local()).unwrap().unwrap()
    }

    fn pem(certificate: &Certificate) -> String {
        let pem = certificate.identity.material().certificate_pem;
        assert_eq!(fs::read_to_string(&certificate.path).unwrap(), pem);
        pem
    }

    #[test]
    fn a_certificate_is_made_once_for_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let first = load_auto(Some(directory.path()));
        let second = load_auto(Some(directory.path()));
        assert!(first.identity.material() == second.identity.material());
        let files = Tls::Files {
            certificate: first.path.clone(),
            key: directory.path().join(KEY_NAME),
        };
        let third = load(&files, None, Vec::new()).unwrap().unwrap();
        assert_eq!(pem(&first), pem(&third));
    }

    #[test]
    fn another_name_of_the_machine_makes_another_certificate() {
        let directory = tempfile::tempdir().unwrap();
        let first = pem(&load_auto(Some(directory.path())));
        let mut names = local();
        names.push("db.example".to_owned());
        let second = load(&Tls::Auto, Some(directory.path()), names);
        assert_ne!(pem(&second.unwrap().unwrap()), first);
    }

    /// Valid until the year 4096, and an authority for every name.
    #[test]
    fn a_certificate_of_older_versions_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(local()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let old = params.self_signed(&key).unwrap().pem();
        fs::write(directory.path().join(CERTIFICATE_NAME), &old).unwrap();
        fs::write(directory.path().join(KEY_NAME), key.serialize_pem()).unwrap();
        assert_ne!(pem(&load_auto(Some(directory.path()))), old);
    }

    #[test]
    fn it_is_renewed_before_it_ends_while_it_is_shown() {
        let directory = tempfile::tempdir().unwrap();
        for certificate in [load_auto(Some(directory.path())), load_auto(None)] {
            let first = pem(&certificate);
            let now = SystemTime::now();
            assert!(!certificate.refresh(now + DAY * 700).unwrap());
            assert_eq!(pem(&certificate), first);
            assert!(certificate.refresh(now + DAY * 800).unwrap());
            assert_ne!(pem(&certificate), first);
            assert!(!certificate.refresh(now + DAY * 800).unwrap());
        }
    }

    #[test]
    fn named_files_are_read_again_and_a_mistake_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (path, key) = (
            directory.path().join("c.pem"),
            directory.path().join("k.pem"),
        );
        let write = |material: &TlsMaterial| {
            fs::write(&path, &material.certificate_pem).unwrap();
            private_file::write(&key, material.key_pem.as_bytes()).unwrap();
        };
        let now = SystemTime::now();
        let [first, second] = [0, 1].map(|_| make(&local(), now).unwrap());
        write(&first);
        let certificate = from_files(path.clone(), key.clone()).unwrap();
        assert!(!certificate.refresh(now).unwrap());
        fs::write(&path, &second.certificate_pem).unwrap();
        certificate.refresh(now).unwrap_err();
        assert!(certificate.identity.material() == first);
        write(&second);
        assert!(certificate.refresh(now).unwrap());
        assert!(certificate.identity.material() == second);
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        load_auto(Some(directory.path()));
        let key = directory.path().join(KEY_NAME);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o666)).unwrap();
        let Err(error) = load(&Tls::Auto, Some(directory.path()), local()) else {
            panic!("it was read")
        };
        let error = format!("{error:#}");
        assert!(error.contains("others than its owner"), "{error}");
    }

    #[test]
    fn in_memory_only_the_certificate_is_a_file_and_only_for_a_while() {
        let certificate = load_auto(None);
        let path = certificate.path.clone();
        pem(&certificate);
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
        let Err(error) = load(&files, None, Vec::new()) else {
            panic!("it was read")
        };
        assert!(error.to_string().contains("no-such.pem"), "{error}");
        assert!(load(&Tls::Off, None, Vec::new()).unwrap().is_none());
    }
}
