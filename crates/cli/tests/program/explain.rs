//! `orrery explain` against a server of its own, seeded with a few shelves of books.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fmt::Write;
use std::process::Output;

use tempfile::TempDir;

use crate::process::{Server, check, orrery};

/// Three hundred books, three on each shelf.
fn library() -> (TempDir, Server) {
    let (directory, seed) = seed();
    let mut command = orrery(["serve", "--memory", "--seed"]);
    command.arg(seed);
    (directory, Server::start(command))
}

fn seed() -> (TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let mut items = String::new();
    for n in 0..300 {
        let comma = if n > 0 { "," } else { "" };
        let (pk, shelf) = (n % 2, n % 100);
        write!(
            items,
            r#"{comma}{{"id":"{n}","pk":{pk},"n":{n},"shelf":{shelf}}}"#
        )
        .unwrap();
    }
    let path = directory.path().join("seed.json");
    let text = format!(
        r#"{{"databases":[{{"id":"my db","containers":[
            {{"id":"books","partitionKey":"/pk","items":[{items}]}}]}}]}}"#
    );
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn explain(server: &Server, more: &[&str]) -> Output {
    let mut command = orrery(["explain", "--database", "my db", "--container", "books"]);
    command.args(["--endpoint", &server.ready.endpoint]);
    command.args(more).output().unwrap()
}

#[track_caller]
fn shown(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The last number of the line with this name.
#[track_caller]
fn actual(text: &str, name: &str) -> u64 {
    let mut lines = text.lines();
    let line = lines.find(|line| line.trim_start().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
    line.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn an_equality_reads_what_it_gives() {
    let (_directory, server) = library();
    let text = shown(&explain(
        &server,
        &[
            "--parameter",
            "@shelf=7",
            "SELECT * FROM c WHERE c.shelf = @shelf",
        ],
    ));
    assert!(text.starts_with("Page 1: "), "{text}");
    assert!(text.contains("point /shelf/? = 7"), "{text}");
    assert!(text.contains("estimated       actual"), "{text}");
    assert!(
        text.contains("compile ") && text.contains("total "),
        "{text}"
    );
    for name in ["index entries", "documents", "rows"] {
        assert_eq!(actual(&text, name), 3, "{text}");
    }
    assert!(!text.contains("more pages"), "{text}");
}

#[test]
fn a_key_narrows_and_pages_follow() {
    let (_directory, server) = library();
    let query = "SELECT c.n FROM c WHERE c.shelf + 0 >= 0";
    let paged = |pages: &str| {
        let options = ["--partition-key", "1", "--page-items", "60"];
        shown(&explain(
            &server,
            &[&options[..], &["--pages", pages, query]].concat(),
        ))
    };
    let first = paged("1");
    assert_eq!(actual(&first, "rows"), 60, "{first}");
    assert!(first.contains("There are more pages"), "{first}");
    let all = paged("9");
    assert!(
        all.contains("Page 3: ") && !all.contains("more pages"),
        "{all}"
    );
    assert_eq!(all.matches("Page ").count(), 3, "{all}");
}

#[test]
fn what_the_server_refuses_is_told() {
    let (_directory, server) = library();
    for (arguments, phrase) in [
        (&["SELEKT"][..], "400: BadRequest"),
        (
            &["--key", "c2VjcmV0", "SELECT * FROM c"],
            "401: Unauthorized",
        ),
        (
            &["--container", "none", "SELECT * FROM c"],
            "cannot be used multiple times",
        ),
        (
            &["--parameter", "a=1", "SELECT * FROM c"],
            "not of the form @name=JSON",
        ),
    ] {
        let output = explain(&server, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(errors.contains(phrase), "{errors}");
    }
}

#[test]
fn with_tls_the_certificate_is_named_or_waived() {
    let (directory, seed) = seed();
    let data = directory.path().join("data");
    let mut command = orrery(["serve", "--listen", "127.0.0.1:0", "--ready-json"]);
    command.arg("--seed").arg(seed).arg("--data").arg(&data);
    let server = Server::start_as_is(command);
    let certificate = server.ready.certificate.clone().unwrap();
    let query = "SELECT * FROM c WHERE c.shelf = 7";
    for trust in [&["--certificate", &certificate][..], &["--insecure"]] {
        let text = shown(&explain(&server, &[trust, &[query]].concat()));
        assert_eq!(actual(&text, "rows"), 3, "{text}");
    }

    let other = directory.path().join("other");
    let mut command = orrery(["serve", "--listen", "127.0.0.1:0", "--ready-json"]);
    let another = Server::start_as_is({
        command.arg("--data").arg(&other);
        command
    });
    let foreign = another.ready.certificate.clone().unwrap();
    for (trust, phrase) in [
        (&[][..], "--insecure"),
        (&["--certificate", &foreign], "cannot connect"),
        (&["--certificate", "missing.pem"], "missing.pem"),
    ] {
        let output = explain(&server, &[trust, &[query]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{errors}");
        assert!(errors.contains(phrase), "{errors}");
    }
    drop((server, another));
    assert!(check(&data).status.success());
}
