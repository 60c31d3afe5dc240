//! The system programs that change the trusted certificates, with their arguments.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::der::serial_number;
use super::paths::TrustPaths;
use super::pem::Pem;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperatingSystem {
    Linux,
    MacOs,
    Windows,
}

/// The owner of a certificate store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    User,
    /// The system, for every user.
    System,
}

/// The directory from which `update-ca-certificates` takes what administrators add (Debian, Ubuntu, Alpine).
pub(super) const ANCHORS: &str = "/usr/local/share/ca-certificates";
const SYSTEM_KEYCHAIN: &str = "/Library/Keychains/System.keychain";

/// A program with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    program: &'static str,
    arguments: Vec<OsString>,
}

impl OperatingSystem {
    pub(super) const HERE: OperatingSystem = if cfg!(windows) {
        OperatingSystem::Windows
    } else if cfg!(target_os = "macos") {
        OperatingSystem::MacOs
    } else {
        OperatingSystem::Linux
    };

    /// The steps that add a certificate, given by the path of its copy, to a store.
    pub(super) fn trust(self, owner: Owner, copy: &Path, paths: &TrustPaths) -> Vec<Step> {
        let copy = copy.as_os_str();
        match (self, owner) {
            // Linux has no store of one user; the files of this command serve instead.
            (OperatingSystem::Linux, Owner::User) => Vec::new(),
            (OperatingSystem::Linux, Owner::System) => vec![step("update-ca-certificates", [])],
            (OperatingSystem::MacOs, Owner::User) => {
                let keychain = paths.login_keychain().into_os_string();
                let flags = ["add-trusted-cert", "-r", "trustRoot", "-p", "ssl", "-k"];
                vec![step("security", flags).with(keychain).with(copy)]
            }
            (OperatingSystem::MacOs, Owner::System) => {
                let flags = [
                    "add-trusted-cert",
                    "-d",
                    "-r",
                    "trustRoot",
                    "-p",
                    "ssl",
                    "-k",
                ];
                let flags = flags.into_iter().chain([SYSTEM_KEYCHAIN]);
                vec![step("security", flags).with(copy)]
            }
            (OperatingSystem::Windows, Owner::User) => {
                vec![step("certutil", ["-user", "-addstore", "Root"]).with(copy)]
            }
            (OperatingSystem::Windows, Owner::System) => {
                vec![step("certutil", ["-addstore", "Root"]).with(copy)]
            }
        }
    }

    /// The steps that remove a certificate from a store.
    pub(super) fn untrust(self, owner: Owner, copy: &Path, pem: &Pem) -> Result<Vec<Step>> {
        let copy = copy.as_os_str();
        Ok(match (self, owner) {
            (OperatingSystem::Linux, Owner::User) => Vec::new(),
            (OperatingSystem::Linux, Owner::System) => {
                vec![step("update-ca-certificates", ["--fresh"])]
            }
            (OperatingSystem::MacOs, Owner::User) => vec![
                step("security", ["remove-trusted-cert"]).with(copy),
                step("security", ["delete-certificate", "-Z"]).with(pem.digest()),
            ],
            (OperatingSystem::MacOs, Owner::System) => vec![
                step("security", ["remove-trusted-cert", "-d"]).with(copy),
                step("security", ["delete-certificate", "-Z"])
                    .with(pem.digest())
                    .with(SYSTEM_KEYCHAIN),
            ],
            (OperatingSystem::Windows, _) => {
                // `certutil -delstore` finds a certificate by its serial number.
                let serial = serial_number(&pem.der).context("it has no serial number")?;
                let user: &[&str] = if owner == Owner::User {
                    &["-user"]
                } else {
                    &[]
                };
                let words = [user, &["-delstore", "Root"]].concat();
                vec![step("certutil", words).with(serial)]
            }
        })
    }
}

/// The path of the certificate in the store of the system, on systems with a directory for such
/// files.
pub(super) fn anchor(name: &str) -> Result<PathBuf> {
    if !Path::new(ANCHORS).is_dir() {
        bail!(
            "Orrery changes the store of a Linux system where `update-ca-certificates` keeps it, and there is no \
             {ANCHORS} here; `orrery certificate trust` without --system needs no such store"
        );
    }
    Ok(Path::new(ANCHORS).join(name).with_extension("crt"))
}

fn step(program: &'static str, words: impl IntoIterator<Item = &'static str>) -> Step {
    Step {
        program,
        arguments: words.into_iter().map(OsString::from).collect(),
    }
}

impl Step {
    fn with(mut self, word: impl Into<OsString>) -> Step {
        self.arguments.push(word.into());
        self
    }

    /// Runs the program. Its output goes to standard error: standard output is for the report of
    /// Orrery.
    pub(super) fn run(&self) -> Result<()> {
        let mut command = Command::new(self.program);
        command.args(&self.arguments).stdout(Stdio::null());
        let status = command
            .status()
            .with_context(|| format!("cannot run {}", self.program))?;
        ensure!(status.success(), "`{self}` failed: {status}");
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program)?;
        for argument in &self.arguments {
            let text = argument.to_string_lossy();
            if text.contains(' ') {
                write!(f, " \"{text}\"")?;
            } else {
                write!(f, " {text}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SerialNumber};

    use super::*;

    fn pem() -> Pem {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.serial_number = Some(SerialNumber::from_slice(&[0x2b, 1]));
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Pem {
            text: certificate.pem(),
            der: certificate.der().to_vec(),
        }
    }

    fn shown(steps: &[Step]) -> String {
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        steps.join("; ")
    }

    #[test]
    fn every_system_is_told_in_its_words() {
        let copy = Path::new("/a b/c.pem");
        let paths = TrustPaths::below(Path::new("/home/u"));
        let pem = pem();
        let digest = pem.digest();
        for (system, owner, trust, untrust) in [
            (OperatingSystem::Linux, Owner::User, String::new(), String::new()),
            (
                OperatingSystem::Linux,
                Owner::System,
                "update-ca-certificates".to_owned(),
                "update-ca-certificates --fresh".to_owned(),
            ),
            (
                OperatingSystem::MacOs,
                Owner::User,
                "security add-trusted-cert -r trustRoot -p ssl -k \
                 /home/u/Library/Keychains/login.keychain-db \"/a b/c.pem\""
                    .to_owned(),
                format!(
                    "security remove-trusted-cert \"/a b/c.pem\"; security delete-certificate -Z {digest}"
                ),
            ),
            (
                OperatingSystem::MacOs,
                Owner::System,
                "security add-trusted-cert -d -r trustRoot -p ssl -k /Library/Keychains/System.keychain \
                 \"/a b/c.pem\""
                    .to_owned(),
                format!(
                    "security remove-trusted-cert -d \"/a b/c.pem\"; security delete-certificate -Z {digest} \
                     /Library/Keychains/System.keychain"
                ),
            ),
            (
                OperatingSystem::Windows,
                Owner::User,
                "certutil -user -addstore Root \"/a b/c.pem\"".to_owned(),
                "certutil -user -delstore Root 2b01".to_owned(),
            ),
            (
                OperatingSystem::Windows,
                Owner::System,
                "certutil -addstore Root \"/a b/c.pem\"".to_owned(),
                "certutil -delstore Root 2b01".to_owned(),
            ),
        ] {
            assert_eq!(shown(&system.trust(owner, copy, &paths)), trust);
            assert_eq!(shown(&system.untrust(owner, copy, &pem).unwrap()), untrust);
        }
    }
}
