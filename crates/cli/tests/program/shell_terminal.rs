//! `orrery shell` as a person uses it.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::process::{Server, orrery};
use crate::shell::{library, seed};
use crate::terminal::Terminal;

fn shell(server: &Server, state: &Path, more: &[&str], rows: u16) -> Terminal {
    let mut command = orrery(["shell", "--connection", &server.ready.endpoint]);
    command.args(more).env("XDG_STATE_HOME", state);
    command.env("NO_COLOR", "1");
    Terminal::start(command, rows, 100)
}

#[test]
fn names_are_completed_and_statements_remembered() {
    let (directory, server) = library();
    let state = directory.path().join("state");
    let mut terminal = shell(&server, &state, &["-d", "my db"], 60);
    terminal.expect("my db> ");
    terminal.type_text("desc\t bo\t\r");
    terminal.expect("partition key  /shelf");
    terminal.expect("my db> ");
    terminal.type_text("use 'my db' bo\t\r");
    terminal.expect("my db/books> ");
    // A statement over two lines, with a keyword and a property completed.
    terminal.type_text("SELECT c.sh\t, c.n FR\t c WHERE\r c.n = 2\r");
    let shown = terminal.expect("1 row, ");
    assert!(
        shown.contains("shelf  n\r\n-----  -\r\nb      2"),
        "{shown:?}"
    );
    terminal.expect("my db/books> ");
    let key = server.ready.key.clone().unwrap();
    terminal.type_text(&format!("help {key}\r"));
    terminal.expect("there is no command");
    terminal.expect("my db/books> ");
    terminal.type_text("quit\r");
    assert!(terminal.end().success());

    let history = state.join("orrery/shell_history");
    let mode = fs::metadata(&history).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&history).unwrap();
    assert!(
        text.contains("c.n = 2") && text.contains("use 'my db' books"),
        "{text}"
    );
    assert!(!text.contains(&key), "{text}");

    let mut terminal = shell(&server, &state, &["-d", "my db", "-n", "books"], 24);
    terminal.expect("my db/books> ");
    // Up past `quit` to the query.
    terminal.type_text("\x1b[A\x1b[A\r");
    terminal.expect("b      2");
    terminal.expect("my db/books> ");
    terminal.type_text("\x04");
    assert!(terminal.end().success());
}

/// The container that the README makes, and its item.
const BOOKS: &str = r#"{"databases":[{"id":"shop","containers":[{"id":"books","partitionKey":"/author","throughput":400,
    "items":[{"id":"1","author":"Le Guin","title":"The Dispossessed"}]}]}]}"#;

#[test]
fn the_first_example_of_the_documentation_works_as_typed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/shell.md");
    let text = fs::read_to_string(path).unwrap();
    let example = text.split("```text\n").nth(1).unwrap();
    let mut lines = example.split("```").next().unwrap().lines();
    let command = lines.next().unwrap().strip_prefix("$ orrery ").unwrap();

    // As `cargo run --release` starts it, but on another port.
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("seed.json"), BOOKS).unwrap();
    let mut serve = orrery(["serve", "--listen", "127.0.0.1:0", "--ready-json", "--seed"]);
    serve.arg("seed.json").current_dir(directory.path());
    let server = Server::start_as_is(serve);
    let mut shell = orrery(command.split(' '));
    shell.current_dir(directory.path());
    shell.env("ORRERY_CONNECTION", &server.ready.endpoint);
    shell.env("XDG_STATE_HOME", directory.path().join("state"));
    shell.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(shell, 60, 100);

    for line in lines {
        let prompt = line.find("> ").filter(|at| !line[..*at].contains(' '));
        if let Some(at) = prompt {
            terminal.expect(&line[..at + 2]);
            terminal.type_text(&format!("{}\r", &line[at + 2..]));
        } else if line.starts_with("FROM ") {
            terminal.type_text(&format!("{line}\r"));
        } else {
            // Charge and time stand behind the first comma.
            let shown = line.find(", ").map_or(line, |at| &line[..at]);
            terminal.expect(shown.trim_end());
        }
    }
    terminal.expect("shop/books> ");
    terminal.type_text("quit\r");
    assert!(terminal.end().success());
}

#[test]
fn errors_are_shown_below_the_statement_and_colours_above() {
    let (directory, server) = library();
    let state = directory.path().join("state");
    let mut command = orrery(["shell", "-c", &server.ready.endpoint]);
    command.args(["-d", "my db", "-n", "books", "--no-history"]);
    command.env("XDG_STATE_HOME", &state).env_remove("NO_COLOR");
    let mut terminal = Terminal::start(command, 24, 100);
    terminal.expect("my db/books> ");
    terminal.type_text("SELECT * FORM c x\r");
    let shown = terminal.expect("Syntax error, incorrect syntax near");
    assert!(shown.contains("\x1b[1;34mSELECT\x1b[0m"), "{shown:?}");
    terminal.expect("  SELECT * FORM c x\r\n           ^^^^");
    terminal.expect("my db/books> ");
    terminal.type_text("quit\r");
    assert!(terminal.end().success());
    assert!(!state.exists());
}

#[test]
fn long_results_stop_at_the_end_of_the_screen() {
    let (directory, server) = library();
    let mut terminal = shell(
        &server,
        directory.path(),
        &["-d", "my db", "-n", "books"],
        10,
    );
    terminal.expect("my db/books> ");
    let numbers: Vec<String> = (100..130).map(|n| n.to_string()).collect();
    let item = format!(r#"{{"id":"9","shelf":"z","n":[{}]}}"#, numbers.join(","));
    terminal.type_text(&format!("create {item}\r"));
    terminal.expect("created, ");
    terminal.expect("my db/books> ");
    terminal.type_text("SELECT VALUE n FROM c JOIN n IN c.n\r");
    let first = terminal.expect("-- Enter for more");
    assert!(
        first.contains("\r\n106\r\n") && !first.contains("\r\n107\r\n"),
        "{first:?}"
    );
    terminal.type_text("\r");
    terminal.expect("\r\n115\r\n");
    terminal.expect("-- Enter for more");
    terminal.type_text("q\r");
    terminal.expect("30 rows, ");
    terminal.expect("my db/books> ");
    terminal.type_text("quit\r");
    assert!(terminal.end().success());
}

#[test]
fn what_runs_can_be_cancelled() {
    let (directory, server) = library();
    let mut terminal = shell(
        &server,
        directory.path(),
        &["-d", "my db", "-n", "books"],
        24,
    );
    terminal.expect("my db/books> ");
    // During the editing of a line Ctrl-C only discards the line.
    terminal.type_text("SELECT nonsense\x03");
    terminal.expect("my db/books> ");
    terminal.type_text("watch every 0.05 SELECT VALUE 'again'\r");
    for _ in 0..3 {
        terminal.expect("\r\nagain\r\n");
    }
    terminal.interrupt();
    terminal.expect("cancelled");
    terminal.expect("my db/books> ");
    // What is typed ahead is not lost.
    terminal.type_text("SELECT VALUE 'still here'\rSELECT VALUE 'and here'\rquit\r");
    terminal.expect("\r\nstill here\r\n");
    terminal.expect("\r\nand here\r\n");
    assert!(terminal.end().success());
}

/// Passes connections on to a server. The channel tells of each connection that the server closed,
/// after the client can see it.
fn relay(server: SocketAddr) -> (SocketAddr, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (closed, is_closed) = channel();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut upstream = TcpStream::connect(server).unwrap();
            let mut from_client = client.try_clone().unwrap();
            let mut to_server = upstream.try_clone().unwrap();
            thread::spawn(move || copy(&mut from_client, &mut to_server));
            let closed = closed.clone();
            thread::spawn(move || {
                // A reset ends the connection as the end of its bytes does.
                let _ = copy(&mut upstream, &mut client);
                let _ = client.shutdown(Shutdown::Write);
                let _ = closed.send(());
            });
        }
    });
    (address, is_closed)
}

#[test]
fn a_connection_that_the_server_closed_over_tls_fails_no_statement() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = orrery(["serve", "--listen", "127.0.0.1:0", "--ready-json", "--tls"]);
    command.args(["auto", "--throughput", "off", "--idle-time", "1", "--seed"]);
    command.arg(seed(directory.path()));
    command.arg("--data").arg(directory.path().join("data"));
    let server = Server::start_as_is(command);
    let endpoint = server.ready.endpoint.strip_prefix("https://").unwrap();
    let (relayed, is_closed) = relay(endpoint.trim_end_matches('/').parse().unwrap());

    let address = format!("https://{relayed}/");
    let certificate = server.ready.certificate.clone().unwrap();
    let mut command = orrery(["shell", "--connection", &address]);
    command.args(["--certificate", &certificate, "-d", "my db", "-n", "books"]);
    command.env("XDG_STATE_HOME", directory.path());
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command, 24, 100);
    terminal.expect("my db/books> ");
    for (statement, told) in [
        (
            r#"create {"id":"3","shelf":"a","n":3,"isbn":"y"}"#,
            "created, ",
        ),
        (
            r#"replace {"id":"3","shelf":"a","n":4,"isbn":"y"}"#,
            " RU, ",
        ),
        ("SELECT VALUE c.n FROM c WHERE c.id = '3'", "\r\n4\r\n"),
        ("delete 3 a", "deleted, "),
    ] {
        terminal.type_text(&format!("{statement}\r"));
        terminal.expect(told);
        terminal.expect("my db/books> ");
        // Nobody types for longer than the server waits.
        is_closed.recv_timeout(Duration::from_mins(1)).unwrap();
    }
    terminal.type_text("quit\r");
    assert!(terminal.end().success());
}
