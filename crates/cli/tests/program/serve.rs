//! The program as a user starts and stops it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orrery_client::{Client, Error, Method, Request, TrustArguments};

use crate::process::{Server, check, orrery};

/// Long enough to be taken.
fn key_of(byte: u8) -> String {
    STANDARD.encode([byte; 32])
}

const SEED: &str = r#"{"databases":[{"id":"db","containers":[
    {"id":"c","partitionKey":"/a","items":[{"id":"1","a":2},{"id":"2","a":3}]}]}]}"#;

fn on(directory: &Path) -> std::process::Command {
    let mut command = orrery(["serve", "--data"]);
    command.arg(directory);
    command
}

#[test]
fn a_server_in_memory_is_ready() {
    let server = Server::start(orrery(["--memory"]));
    assert!(server.ready.ready);
    assert_eq!(server.ready.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(server.ready.durability, "sync");
    assert!(server.ready.cache_bytes >= 128 << 20);
    assert!(server.ready.key.as_ref().unwrap().starts_with("C2y6"));
    assert_eq!(server.ready.certificate, None);
    assert!(server.ready.pid > 0);
    for path in ["/ready", "/health"] {
        assert_eq!(server.get(path).0, "HTTP/1.1 200 OK", "{path}");
    }
    assert!(server.get("/").0.contains("401"));
}

#[test]
fn direct_mode_has_a_port_unless_it_is_off() {
    let port = |server: &Server| {
        let direct = server.ready.direct.clone().unwrap();
        let port = direct.strip_prefix("rntbd://127.0.0.1:");
        let port = port.and_then(|port| port.strip_suffix('/'));
        port.unwrap().parse::<u16>().unwrap()
    };
    let free = port(&Server::start(orrery(["--memory"])));
    let mut command = orrery(["--memory"]);
    command.env("ORRERY_DIRECT_LISTEN", format!("127.0.0.1:{free}"));
    assert_eq!(port(&Server::start(command)), free);
    let off = Server::start(orrery(["--memory", "--direct", "off"]));
    assert_eq!(off.ready.direct, None);
}

#[test]
fn a_key_of_ones_own_is_not_printed() {
    let mut command = orrery(["serve", "--memory"]);
    command.env("ORRERY_KEY", key_of(b'a'));
    let server = Server::start(command);
    assert_eq!(server.ready.key, None);
}

#[test]
fn with_tls_the_certificate_is_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = on(directory.path());
    command.args(["--listen", "127.0.0.1:0", "--ready-json"]);
    let server = Server::start_as_is(command);
    assert!(
        server.ready.endpoint.starts_with("https://127.0.0.1:"),
        "{}",
        server.ready.endpoint
    );
    let certificate = fs::read_to_string(server.ready.certificate.as_ref().unwrap()).unwrap();
    assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"));
    #[cfg(unix)]
    for name in ["certificate-key.pem", "token-secret"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(directory.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_directory_has_one_server() {
    let directory = tempfile::tempdir().unwrap();
    let _server = Server::start(on(directory.path()));
    let second = on(directory.path())
        .args(["--listen=0", "--tls=off"])
        .output()
        .unwrap();
    assert_eq!(
        (second.status.code(), second.stdout.as_slice()),
        (Some(1), &b""[..])
    );
    let checked = check(directory.path());
    assert_eq!(
        (checked.status.code(), checked.stdout.as_slice()),
        (Some(2), &b""[..])
    );
    for stderr in [second.stderr, checked.stderr] {
        let message = String::from_utf8(stderr).unwrap();
        assert!(
            message.contains("in use by another Orrery process"),
            "{message}"
        );
    }
}

#[test]
fn a_taken_port_is_explained() {
    let server = Server::start(orrery(["--memory"]));
    let port = server
        .ready
        .endpoint
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .unwrap();
    let second = orrery(["--memory", "--tls=off", "--listen", port])
        .output()
        .unwrap();
    let message = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(
        message.contains("--listen") && message.contains("hint: another program"),
        "{message}"
    );
}

#[cfg(unix)]
#[test]
fn a_signal_stops_cleanly_and_the_data_stays() {
    let directory = tempfile::tempdir().unwrap();
    let (data, seed) = (
        directory.path().join("data"),
        directory.path().join("seed.json"),
    );
    fs::write(&seed, SEED).unwrap();

    let mut command = on(&data);
    command.arg("--seed").arg(&seed);
    assert_eq!(
        Server::start(command).stop("-TERM"),
        (Some(0), String::new())
    );
    assert_eq!(
        Server::start(on(&data)).stop("-INT"),
        (Some(0), String::new())
    );

    let checked = check(&data);
    let report = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{report}");
    assert!(report.contains("documents    2 "), "{report}");
    assert!(report.contains("No problems found."), "{report}");
}

#[cfg(unix)]
#[test]
fn an_idle_connection_does_not_delay_the_end() {
    // Open requests get ten seconds to finish. A busy machine may be slow once, but not every time.
    let mut tries = 0;
    loop {
        let server = Server::start(orrery(["--memory"]));
        let endpoint = server.ready.endpoint.trim_start_matches("http://");
        let address = endpoint.trim_end_matches('/');
        let _idle = std::net::TcpStream::connect(address).unwrap();
        server.get("/ready");
        let begun = Instant::now();
        assert_eq!(server.stop("-TERM").0, Some(0));
        let took = begun.elapsed();
        if took < Duration::from_secs(5) {
            break;
        }
        tries += 1;
        assert!(tries < 4, "{took:?}");
    }
}

#[test]
fn a_wrong_seed_names_its_item() {
    let directory = tempfile::tempdir().unwrap();
    let seed = directory.path().join("seed.json");
    fs::write(&seed, SEED.replace(r#""id":"2""#, r#""id":2"#)).unwrap();
    let output = orrery(["--memory", "--tls=off", "--listen=0", "--seed"])
        .arg(&seed)
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        message.contains("container 'c'") && message.contains("items[1]"),
        "{message}"
    );
}

#[test]
fn check_needs_a_data_directory() {
    let directory = tempfile::tempdir().unwrap();
    let checked = check(&directory.path().join("none"));
    assert_eq!(checked.status.code(), Some(2));
    assert!(String::from_utf8(checked.stderr).unwrap().contains("none"));
    assert!(!directory.path().join("none").exists());
}

#[test]
fn keys_change_while_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.toml");
    let (first, second) = (key_of(b'a'), key_of(b'b'));
    fs::write(&file, format!("primary = \"{first}\"\n")).unwrap();
    let mut command = orrery(["--memory", "--log=off", "--key-file"]);
    command.arg(&file);
    let server = Server::start(command);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let accepts = |key: &str| {
        let endpoint = server.ready.endpoint.parse().unwrap();
        let key = key.parse().unwrap();
        let mut client = Client::new(endpoint, &key, TrustArguments::new(None, false));
        let databases = Request::feed(Method::GET, "dbs", "");
        match runtime.block_on(client.send(&databases)) {
            Ok(_) => true,
            Err(Error::Refused(refusal)) if refusal.status == 401 => false,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(accepts(&first) && !accepts(&second));
    fs::write(&file, "primary = nonsense!\n").unwrap();
    fs::write(&file, format!("primary = \"{second}\"\n")).unwrap();
    let begun = Instant::now();
    while !accepts(&second) {
        let waited = begun.elapsed();
        assert!(
            waited < Duration::from_mins(1),
            "the new key was never taken over"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!accepts(&first));
}
