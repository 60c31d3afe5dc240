//! `orrery shell` as a person uses it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::process::{Server, orrery};
use crate::shell::library;
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
    // While a line is edited it only gives up the line.
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
