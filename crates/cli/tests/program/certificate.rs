//! `orrery certificate`: what clients of a server over TLS trust, before, after, and after that.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::process::{Server, orrery};

/// A user's home with a server over TLS in it.
struct Home {
    directory: TempDir,
    server: Server,
}

impl Home {
    fn new() -> Home {
        let directory = tempfile::tempdir().unwrap();
        let mut command = orrery(["serve", "--listen", "127.0.0.1:0", "--ready-json", "--data"]);
        command.arg(directory.path().join("data"));
        let server = Server::start_as_is(command);
        Home { directory, server }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The program for the user of this home, in another directory than the server's.
    fn orrery(&self, arguments: &[&str]) -> Command {
        let mut command = orrery(arguments.iter().copied());
        command.env("HOME", self.path()).env_remove("XDG_DATA_HOME");
        command
            .env_remove("SSL_CERT_FILE")
            .env_remove("SSL_CERT_DIR");
        command.current_dir(self.path());
        command
    }

    fn certificate(&self, order: &str) -> (bool, String) {
        let path = self.server.ready.certificate.as_deref().unwrap();
        let arguments = ["certificate", order, "--certificate", path];
        outcome(&self.orrery(&arguments).output().unwrap())
    }

    /// Asks the server, with this file in `SSL_CERT_FILE`.
    fn ask(&self, bundle: Option<&Path>) -> (bool, String) {
        let connection = ["--connection", &self.server.ready.endpoint];
        let mut command = self.orrery(&[&["shell", "-e", "databases"], &connection[..]].concat());
        if let Some(bundle) = bundle {
            command.env("SSL_CERT_FILE", bundle);
        }
        outcome(&command.output().unwrap())
    }

    fn files(&self, below: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path().join(below)) else {
            return Vec::new();
        };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

fn outcome(output: &Output) -> (bool, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// OpenSSL finds the certificate in the file of .NET's store, if this machine has OpenSSL.
#[cfg(target_os = "linux")]
fn check_pfx(pfx: &Path, certificate: &str) {
    let mut openssl = Command::new("openssl");
    openssl.args(["pkcs12", "-nokeys", "-passin", "pass:", "-in"]);
    // The file has no password, so it has no MAC either.
    let Ok(output) = openssl.arg(pfx).arg("-nomacver").output() else {
        let mut errors = io::stderr().lock();
        writeln!(errors, "openssl is not there: nobody else reads the .pfx").unwrap();
        return;
    };
    let (is_read, text) = outcome(&output);
    let body = |text: &str| {
        let (_, rest) = text.split_once("-----BEGIN CERTIFICATE-----").unwrap();
        let (body, _) = rest.split_once("-----END CERTIFICATE-----").unwrap();
        body.split_whitespace().collect::<String>()
    };
    assert!(is_read, "{text}");
    assert_eq!(body(&text), body(certificate));
}

#[cfg(target_os = "linux")]
#[test]
fn a_user_trusts_a_server_and_takes_it_back() {
    const DOTNET: &str = ".dotnet/corefx/cryptography/x509stores/root";
    const TRUSTED: &str = ".local/share/orrery/trusted";
    let home = Home::new();
    let (is_trusted, text) = home.ask(None);
    assert!(
        !is_trusted && text.contains("its certificate is not trusted"),
        "{text}"
    );
    let (is_done, text) = home.certificate("untrust");
    assert!(!is_done && text.contains("has not made"), "{text}");

    let (is_done, text) = home.certificate("trust");
    assert!(is_done, "{text}");
    let [pfx] = &home.files(DOTNET)[..] else {
        panic!("{text}")
    };
    let [bundle, copy] = &home.files(TRUSTED)[..] else {
        panic!("{text}")
    };
    let expected = [
        format!("  .NET    {}\n", pfx.display()),
        format!("  export SSL_CERT_FILE=\"{}\" ", bundle.display()),
        format!("certificate untrust --certificate \"{}\"\n", copy.display()),
    ];
    for line in expected {
        assert!(text.contains(&line), "{line} is not in {text}");
    }
    let own = home.server.ready.certificate.as_deref().unwrap();
    let own = fs::read_to_string(own).unwrap();
    check_pfx(pfx, &own);
    let mode = fs::metadata(pfx).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let all = fs::read_to_string(bundle).unwrap();
    assert!(all.ends_with(&fs::read_to_string(copy).unwrap()));
    assert!(
        all.replace("\r\n", "\n")
            .contains(own.replace("\r\n", "\n").trim())
    );
    let (is_trusted, text) = home.ask(Some(bundle));
    assert!(is_trusted, "{text}");
    // Trusted twice is trusted once.
    assert!(home.certificate("trust").0);
    assert_eq!(home.files(TRUSTED).len(), 2);

    // The copy is enough: the server and its directory may be gone.
    let copy = copy.to_str().unwrap();
    let untrust = ["certificate", "untrust", "--certificate", copy];
    let (is_done, text) = outcome(&home.orrery(&untrust).output().unwrap());
    assert!(is_done && text.contains("no longer trusted"), "{text}");
    assert_eq!(home.files(DOTNET), Vec::<PathBuf>::new());
    assert_eq!(home.files(TRUSTED), Vec::<PathBuf>::new());
    assert!(!home.ask(None).0);
}

#[cfg(target_os = "linux")]
#[test]
fn steps_before_a_failure_are_reported() {
    let home = Home::new();
    let bundle = home.path().join(".local/share/orrery/trusted/bundle.pem");
    // A directory in place of the file fails the last step of `trust`.
    fs::create_dir_all(bundle.join("x")).unwrap();
    let (is_done, text) = home.certificate("trust");
    assert!(!is_done && text.contains("bundle.pem"), "{text}");
    assert!(!text.contains("is trusted from now on"), "{text}");
    let steps = "Not every step succeeded. These did:\n  copy    ";
    assert!(
        text.contains(steps) && text.contains("\n  .NET    "),
        "{text}"
    );
    let (is_done, text) = home.certificate("untrust");
    assert!(!is_done && !text.contains("is no longer trusted"), "{text}");
    assert_eq!(text.matches("\n  removed  ").count(), 2, "{text}");
}

#[test]
fn a_file_without_a_certificate_is_refused() {
    let home = Home::new();
    let arguments = ["certificate", "trust", "--data", "nowhere"];
    let (is_done, text) = outcome(&home.orrery(&arguments).output().unwrap());
    assert!(
        !is_done && text.contains("nowhere/certificate.pem"),
        "{text}"
    );
    fs::write(home.path().join("a.pem"), "nothing").unwrap();
    let arguments = ["certificate", "trust", "--certificate", "a.pem"];
    let (is_done, text) = outcome(&home.orrery(&arguments).output().unwrap());
    assert!(
        !is_done && text.contains("there is no certificate in a.pem"),
        "{text}"
    );
}
