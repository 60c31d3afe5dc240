//! The locations of the files that make a certificate trusted.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The directory, below the home directory of a user, in which .NET on Linux looks for authorities.
const DOTNET_ROOTS: &str = ".dotnet/corefx/cryptography/x509stores/root";

/// The authorities of the system in one file, as the distributions of Linux have it.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

pub(super) struct TrustPaths {
    home: PathBuf,
    /// The directory of the copies of trusted certificates, which `untrust` reads after the server
    /// and its files are gone.
    pub(super) copies: PathBuf,
    /// The present value of `SSL_CERT_FILE`.
    certificate_file: Option<PathBuf>,
}

impl TrustPaths {
    pub(super) fn of_environment() -> Result<TrustPaths> {
        let directory = |name: &str| {
            // A relative path would depend on the working directory, so the XDG specification
            // ignores it too.
            let path = env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let home = directory(home)
            .with_context(|| format!("{home} does not name the directory of the user"))?;
        let data = if cfg!(windows) {
            directory("LOCALAPPDATA")
        } else {
            directory("XDG_DATA_HOME")
        };
        let data = data.unwrap_or_else(|| home.join(".local/share"));
        Ok(TrustPaths {
            home,
            copies: data.join("orrery/trusted"),
            certificate_file: directory("SSL_CERT_FILE"),
        })
    }

    #[cfg(test)]
    pub(super) fn below(home: &Path) -> TrustPaths {
        TrustPaths {
            home: home.to_owned(),
            copies: home.join(".local/share/orrery/trusted"),
            certificate_file: None,
        }
    }

    /// The file for `SSL_CERT_FILE`.
    pub(super) fn bundle(&self) -> PathBuf {
        self.copies.join("bundle.pem")
    }

    pub(super) fn copy(&self, name: &str) -> PathBuf {
        self.copies.join(name).with_extension("pem")
    }

    pub(super) fn dotnet(&self, name: &str) -> PathBuf {
        self.home
            .join(DOTNET_ROOTS)
            .join(name)
            .with_extension("pfx")
    }

    pub(super) fn login_keychain(&self) -> PathBuf {
        self.home.join("Library/Keychains/login.keychain-db")
    }

    /// The file with the authorities that programs of this user trusted before.
    pub(super) fn system_bundle(&self) -> Option<PathBuf> {
        let bundle = self.bundle();
        let chosen = self.certificate_file.clone();
        // The variable may name the bundle of this command already, and a bundle must not include
        // itself.
        let chosen = chosen.filter(|path| *path != bundle && path.is_file());
        let known = SYSTEM_BUNDLES.iter().map(Path::new);
        chosen.or_else(|| {
            let mut files = known.filter(|path| path.is_file());
            files.next().map(Path::to_owned)
        })
    }
}
