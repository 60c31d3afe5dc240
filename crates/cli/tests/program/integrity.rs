//! What the program says about a data directory that has lost records, and who can read the
//! directory.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::process::{Server, check, orrery};

const SEED: &str = r#"{"databases":[{"id":"db","containers":[
    {"id":"c","partitionKey":"/a","items":[{"id":"1","a":2},{"id":"2","a":3}]}]}]}"#;

fn on(directory: &Path) -> Command {
    let mut command = orrery(["serve", "--data"]);
    command.arg(directory);
    command
}

/// A data directory that was filled and left in order.
fn fill(root: &Path) -> std::path::PathBuf {
    let (data, seed) = (root.join("data"), root.join("seed.json"));
    fs::write(&seed, SEED).unwrap();
    let mut command = on(&data);
    command.arg("--seed").arg(&seed);
    stop(Server::start(command));
    data
}

#[cfg(unix)]
fn stop(server: Server) {
    assert_eq!(server.stop("-TERM").0, Some(0));
}

#[cfg(not(unix))]
fn stop(server: Server) {
    drop(server);
}

fn output(mut command: Command) -> Output {
    command.args(["--listen", "127.0.0.1:0", "--tls", "off"]);
    command.output().unwrap()
}

#[test]
fn a_lost_log_is_refused_until_the_loss_is_accepted() {
    let root = tempfile::tempdir().unwrap();
    let data = fill(root.path());
    assert_eq!(check(&data).status.code(), Some(0));
    fs::remove_dir_all(data.join("log")).unwrap();

    for _ in 0..2 {
        let refused = output(on(&data));
        let text = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{text}");
        assert!(
            text.contains("has lost records") && text.contains("--accept-loss"),
            "{text}"
        );
        let checked = check(&data);
        let report = String::from_utf8(checked.stdout).unwrap();
        assert_eq!(checked.status.code(), Some(1), "{report}");
        assert!(
            report.contains("its end is lost") && report.contains("What to do"),
            "{report}"
        );
    }
    // Neither the environment nor a configuration file can accept the loss, because either would
    // accept the next loss as well.
    let mut command = on(&data);
    command.env("ORRERY_ACCEPT_LOSS", "true");
    assert_eq!(output(command).status.code(), Some(1));
    let file = root.path().join("orrery.toml");
    fs::write(&file, "accept-loss = true").unwrap();
    let mut command = on(&data);
    command.arg("--config").arg(&file);
    assert_eq!(output(command).status.code(), Some(1));

    let mut command = on(&data);
    command.arg("--accept-loss");
    let server = Server::start(command);
    assert_eq!(server.get("/ready").0, "HTTP/1.1 200 OK");
    stop(server);
    stop(Server::start(on(&data)));
    let checked = check(&data);
    assert_eq!(checked.status.code(), Some(0));
    let report = String::from_utf8(checked.stdout).unwrap();
    assert!(
        report.contains("documents 2") && report.contains("catalogue "),
        "{report}"
    );
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_the_data() {
    use std::os::unix::fs::PermissionsExt;

    fn assert_private(path: &Path) {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} is {:o}", path.display(), mode & 0o777);
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                assert_private(&entry.unwrap().path());
            }
        }
    }

    let root = tempfile::tempdir().unwrap();
    // An older version or an administrator may have made the directory with rights for others.
    let data = root.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let data = fill(root.path());
    assert_private(&data);
}

#[test]
fn a_server_that_refuses_writes_says_so() {
    let root = tempfile::tempdir().unwrap();
    let data = fill(root.path());
    let mut command = on(&data);
    // No disk has so much free.
    command.args(["--disk-reserve", "1000000TiB"]);
    let server = Server::start(command);
    let (status, body) = server.get("/ready");
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable", "{body}");
    assert!(
        body.contains(r#""writes":"refused""#) && body.contains("is full"),
        "{body}"
    );
    assert_eq!(server.get("/ready?for=reads").0, "HTTP/1.1 200 OK");
    let (status, body) = server.get("/health");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(body.contains("refusing writes"), "{body}");
    let metrics = server.get("/metrics").1;
    assert!(
        metrics.contains("orrery_store_state{state=\"refusing\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("orrery_disk_free_bytes "), "{metrics}");
    stop(server);

    let server = Server::start(on(&data));
    assert_eq!(server.get("/ready").1, r#"{"status":"ok"}"#);
    let metrics = server.get("/metrics").1;
    assert!(
        metrics.contains("orrery_store_state{state=\"writable\"} 1"),
        "{metrics}"
    );
}
