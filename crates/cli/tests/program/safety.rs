//! What keeps others out: keys, files with secrets, and where the program listens.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Server, orrery};

/// Where others could reach the server, if it started.
const EVERYWHERE: &str = "--listen=0.0.0.0:0";

/// Runs a program that must refuse its arguments, and returns its error text. Kills a program that
/// starts to serve.
fn refused(mut command: Command) -> String {
    let mut process = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut stdout = BufReader::new(process.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    let _ = process.kill();
    assert_eq!(first, "");
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

fn in_memory(flags: &[&str]) -> Command {
    let mut command = orrery(["--memory", "--tls=off", "--ready-json"]);
    command.args(flags);
    command
}

#[test]
fn the_well_known_key_is_not_served_to_others() {
    let own = "--region=a";
    for flags in [
        &[EVERYWHERE][..],
        &[own, EVERYWHERE],
        &[own, "--listen=0", "--region=b=0.0.0.0:0"],
        &[own, "--listen=0", "--account-listen=0.0.0.0:0"],
    ] {
        let message = refused(in_memory(flags));
        assert!(
            message.contains("--key-file") && message.contains("--allow-well-known-key"),
            "{message}"
        );
    }
    let mut told = in_memory(&[EVERYWHERE, "--log=off"]);
    told.env("ORRERY_ALLOW_WELL_KNOWN_KEY", "true");
    assert!(Server::start_as_is(told).ready.key.is_some());
}

#[test]
fn a_region_that_is_added_is_not_served_to_others_either() {
    let server = Server::start_as_is(in_memory(&["--region=a", "--listen=0"]));
    let management = server.ready.management.as_ref().unwrap();
    let mut add = orrery(["region", "add", "b", "--listen", "0.0.0.0:0"]);
    add.args(["--management", &management.endpoint]);
    add.env("ORRERY_MANAGEMENT_KEY", management.key.as_ref().unwrap());
    let message = refused(add);
    assert!(message.contains("--allow-well-known-key"), "{message}");
}

#[test]
fn a_key_file_that_is_missing_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.toml");
    let start = || {
        let mut command = in_memory(&[EVERYWHERE, "--key-file"]);
        command.arg(&file);
        Server::start_as_is(command)
    };
    assert_eq!(start().ready.key, None);
    let made = fs::read_to_string(&file).unwrap();
    assert_eq!(made.matches(" = \"").count(), 4, "{made}");
    start();
    assert_eq!(fs::read_to_string(&file).unwrap(), made);
}

/// All regions must have the same keys, so a region with peers must not make keys alone.
#[test]
fn a_region_among_other_processes_makes_no_keys() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.toml");
    let mut command = orrery(["--region=a", "--peer=b=localhost:1", "--peer-listen=0"]);
    command.args(["--peer-identity=none", "--key-file"]);
    let message = refused({
        command.arg(&file).arg("--data").arg(directory.path());
        command
    });
    assert!(message.contains("cannot read the key file"), "{message}");
    assert!(!file.exists());
}

/// A server on a public address keeps its own keys when its key file changes to the well-known key.
#[test]
fn a_running_server_does_not_take_over_the_well_known_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.toml");
    let log = directory.path().join("log");
    let mut command = in_memory(&[EVERYWHERE, "--key-file"]);
    command.arg(&file).stderr(fs::File::create(&log).unwrap());
    let _server = Server::start_as_is(command);
    let known = well_known_key();
    fs::write(&file, format!("primary = \"{known}\"\n")).unwrap();
    wait_for(&log, "the account keys stay as they were");
    assert!(!fs::read_to_string(&log).unwrap().contains(&known));
}

/// The well-known key, which a server on a loopback address prints at its start.
fn well_known_key() -> String {
    let server = Server::start_as_is(in_memory(&["--listen=0"]));
    server.ready.key.clone().unwrap()
}

/// Without TLS a client of the management listener sends the management key in the clear.
#[test]
fn operators_are_warned_of_a_network_without_tls() {
    let directory = tempfile::tempdir().unwrap();
    let phrase = "operators send their key over the network in the clear";
    for (management, is_warned) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let log = directory
            .path()
            .join(if is_warned { "warned" } else { "quiet" });
        let mut command = in_memory(&["--region=a", "--listen=0", "--management", management]);
        command.stderr(fs::File::create(&log).unwrap());
        let _server = Server::start_as_is(command);
        let said = fs::read_to_string(&log).unwrap();
        assert_eq!(said.contains(phrase), is_warned, "{said}");
    }
}

fn wait_for(log: &Path, text: &str) {
    let begun = Instant::now();
    while !fs::read_to_string(log).unwrap().contains(text) {
        assert!(begun.elapsed() < Duration::from_mins(1), "never: {text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_short_key_is_refused_and_not_repeated() {
    let mut command = in_memory(&["--listen=0"]);
    command.env("ORRERY_READ_ONLY_KEY", "c2VjcmV0");
    let message = refused(command);
    assert!(
        message.contains("6 bytes") && message.contains("openssl rand -base64 64"),
        "{message}"
    );
    assert!(!message.contains("c2VjcmV0"), "{message}");
}

#[cfg(unix)]
#[test]
fn secrets_that_others_may_write_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let keys = directory.path().join("keys.toml");
    let start = || {
        let mut command = orrery(["--listen=0", "--ready-json", "--region=a", "--log=off"]);
        command
            .arg("--data")
            .arg(&data)
            .arg("--key-file")
            .arg(&keys);
        command
    };
    drop(Server::start_as_is(start()));
    for file in [
        keys.clone(),
        data.join("certificate-key.pem"),
        data.join("token-secret"),
        data.join("management-key"),
    ] {
        let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        set(0o602);
        let message = refused(start());
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(
            message.contains(name) && message.contains("chmod go-w"),
            "{message}"
        );
        assert!(!message.contains("hint:"), "{message}");
        set(0o600);
    }
    drop(Server::start_as_is(start()));
}

/// Somebody who may write the private key of a region could pretend to be that region.
#[cfg(unix)]
#[test]
fn an_identity_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let mut certify = orrery(["region", "certificates", "--region=a", "--out"]);
    certify.arg(directory.path());
    assert!(certify.output().unwrap().status.success());
    let identity = directory.path().join("a");
    let key = identity.join("key.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o602)).unwrap();
    let mut command = orrery(["--region=a", "--peer=b=localhost:1", "--peer-listen=0"]);
    command
        .args(["--listen=0", "--peer-identity"])
        .arg(&identity);
    command.arg("--data").arg(directory.path().join("data"));
    let message = refused(command);
    assert!(
        message.contains("key.pem") && message.contains("chmod go-w"),
        "{message}"
    );
}

/// Collects every key and secret of a run, and looks for each of them in all output of the run.
#[cfg(unix)]
#[test]
fn nothing_that_is_said_has_a_secret() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let mut command = orrery(["--listen=0", "--region=a", "--log=trace", "--ready-json"]);
    command.arg("--data").arg(path("data"));
    command.arg("--key-file").arg(path("keys.toml"));
    let log = fs::File::create(path("log")).unwrap();
    command.stderr(log);
    let server = Server::start_as_is(command);
    let keys = fs::read_to_string(path("keys.toml")).unwrap();
    let mut secrets: Vec<String> = keys
        .split('"')
        .filter(|word| word.len() > 40 && !word.contains(' '))
        .map(str::to_owned)
        .collect();
    assert_eq!(secrets.len(), 4);
    let mut list = orrery(["region", "list", "--data"]);
    assert!(list.arg(path("data")).output().unwrap().status.success());
    let certificate = server.ready.certificate.clone().unwrap();
    let mut databases = orrery(["shell", "--connection", &server.ready.endpoint]);
    databases.args(["--certificate", &certificate, "-e", "databases"]);
    databases.env("ORRERY_KEY", &secrets[0]);
    let output = databases.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let said = format!("{:?}", server.ready);
    assert_eq!(server.stop("-TERM").0, Some(0));
    for name in ["token-secret", "management-key", "certificate-key.pem"] {
        let text = fs::read_to_string(path("data").join(name)).unwrap();
        let longest = text.lines().max_by_key(|line| line.len()).unwrap();
        secrets.push(longest.trim().to_owned());
    }
    let log = fs::read_to_string(path("log")).unwrap();
    assert!(log.len() > 1_000, "{log}");
    for secret in secrets {
        assert!(secret.len() > 40 && !said.contains(&secret), "{said}");
        assert!(!log.contains(&secret));
    }
}
