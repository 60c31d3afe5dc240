//! `orrery shell` in a pipe, against a server of its own.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use crate::process::{Server, orrery};

const SEED: &str = r#"{"databases":[{"id":"my db","containers":[
    {"id":"books","partitionKey":"/shelf","throughput":500,"defaultTtl":-1,
     "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/isbn"]}]},
     "items":[{"id":"1","shelf":"a","n":1,"isbn":"x"},{"id":"2","shelf":"b","n":2,"title":"P, \"Q\""}]},
    {"id":"ids","partitionKey":"/id","items":[{"id":"1"}]}]}]}"#;

/// A server with two books.
pub(crate) fn library() -> (TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let mut command = orrery(["serve", "--memory", "--seed"]);
    command.arg(seed(directory.path()));
    (directory, Server::start(command))
}

/// A file with the two books.
pub(crate) fn seed(directory: &Path) -> PathBuf {
    let path = directory.join("seed.json");
    fs::write(&path, SEED).unwrap();
    path
}

fn shell(server: &Server, arguments: &[&str]) -> Command {
    let mut command = orrery(["shell", "--connection", &server.ready.endpoint]);
    command.args(arguments);
    command
}

fn with_input(mut command: Command, input: &str) -> Output {
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    process.wait_with_output().unwrap()
}

/// Standard output and standard error of a script that must end with this status.
#[track_caller]
fn told(output: &Output, status: i32) -> (String, String) {
    let (out, err) = (
        String::from_utf8(output.stdout.clone()).unwrap(),
        String::from_utf8(output.stderr.clone()).unwrap(),
    );
    assert_eq!(output.status.code(), Some(status), "{out}\n{err}");
    (out, err)
}

#[test]
fn a_script_writes_and_reads() {
    let (_directory, server) = library();
    let script = r#"
        -- items in all the ways there are
        use 'my db' books
        create {
            "id": "3", "shelf": "a",
            "n": 3, "isbn": "y"
        }
        upsert {"id":"3","shelf":"a","n":4,"isbn":"y"}
        replace {"id":"3","shelf":"a","n":5,"isbn":"y"}
        patch 3 a [{"op":"incr","path":"/n","value":2}]
        format json
        SELECT c.id, c.n
        FROM c WHERE c.shelf = 'a'
        ORDER BY c.n
        delete 3 "a"; SELECT VALUE COUNT(1) FROM c;
        use 'my db' ids
        get 1
    "#;
    let (out, err) = told(&with_input(shell(&server, &[]), script), 0);
    let lines: Vec<&str> = out.lines().collect();
    let end = lines.len();
    assert_eq!(
        lines[end - 4..end - 1],
        [r#"{"id":"1","n":1}"#, r#"{"id":"3","n":7}"#, "2"],
        "{out}"
    );
    assert!(lines[end - 1].starts_with(r#"{"id":"1","#), "{out}");
    assert!(
        err.contains("created, ") && err.contains("deleted, "),
        "{err}"
    );
    assert!(
        err.contains("2 rows, ") && err.contains(" RU, ") && err.contains(" ms"),
        "{err}"
    );
}

#[test]
fn rows_have_the_format_that_is_asked_for() {
    let (_directory, server) = library();
    let query = "SELECT c.id, c.n, c.title FROM c ORDER BY c.n";
    for (format, expected) in [
        (
            "table",
            "id  n  title\n--  -  ------\n1   1\n2   2  P, \"Q\"\n",
        ),
        (
            "json",
            "{\"id\":\"1\",\"n\":1}\n{\"id\":\"2\",\"n\":2,\"title\":\"P, \\\"Q\\\"\"}\n",
        ),
        ("csv", "id,n,title\n1,1,\n2,2,\"P, \"\"Q\"\"\"\n"),
    ] {
        let place = ["--database", "my db", "--container", "books"];
        let more = ["--format", format, "--execute", query];
        let output = shell(&server, &[&place[..], &more].concat())
            .output()
            .unwrap();
        assert_eq!(told(&output, 0).0, expected);
    }
}

#[test]
fn the_first_error_ends_a_script_unless_told_otherwise() {
    let (_directory, server) = library();
    let script = "use 'my db' books\nSELECT *\nFORM c;\nSELECT VALUE 'after'\n";
    let (out, err) = told(&with_input(shell(&server, &["-o", "json"]), script), 1);
    assert_eq!(out, "");
    assert!(
        err.contains("standard input:2: error: the server answers 400"),
        "{err}"
    );
    assert!(err.contains("  FORM c\n  ^"), "{err}");
    let going = shell(&server, &["-o", "json", "--keep-going"]);
    let (out, err) = told(&with_input(going, script), 1);
    assert_eq!(out, "\"after\"\n", "{err}");
}

#[test]
fn errors_say_what_to_correct() {
    let (directory, server) = library();
    let missing = directory.path().join("none");
    for (arguments, phrase) in [
        (&["-e", "SELECT 1"][..], "use DATABASE CONTAINER"),
        (&["-e", "fetch 1"], "`help` lists the commands"),
        (
            &["-e", "use 'my db' books; get 1"],
            "the partition key of this container is /shelf",
        ),
        (
            &["-e", "use 'my db' books; get 9 a"],
            "the server answers 404",
        ),
        (&["-e", "use 'my db' none; SELECT * FROM c"], "404"),
        (&["--file", missing.to_str().unwrap()], "none"),
    ] {
        let output = shell(&server, arguments).output().unwrap();
        let err = told(&output, 1).1;
        assert!(err.contains(phrase), "{err}");
    }
    let mut command = orrery(["shell", "--profile", "p", "--profiles"]);
    let err = told(&command.arg(&missing).output().unwrap(), 1).1;
    assert!(err.contains("cannot read") && err.contains("none"), "{err}");
    let mut command = orrery(["shell", "-c", "http://127.0.0.1:1/", "-e", "databases"]);
    let err = told(&command.output().unwrap(), 1).1;
    assert!(err.contains("cannot connect to 127.0.0.1:1"), "{err}");
}

#[test]
fn the_account_comes_from_flag_environment_or_profile() {
    let (directory, server) = library();
    let endpoint = &server.ready.endpoint;
    let text = format!(
        "AccountEndpoint={endpoint};AccountKey={};",
        server.ready.key.clone().unwrap()
    );
    let wrong = format!("AccountEndpoint={endpoint};AccountKey=c2VjcmV0;");
    let run = |command: &mut Command| command.args(["-e", "databases"]).output().unwrap();

    let mut command = orrery(["shell"]);
    assert!(
        told(&run(command.env("ORRERY_CONNECTION", &text)), 0)
            .0
            .contains("my db")
    );
    let mut command = orrery(["shell", "--connection", &text]);
    assert!(
        told(&run(command.env("ORRERY_CONNECTION", &wrong)), 0)
            .0
            .contains("my db")
    );
    let mut command = orrery(["shell"]);
    let err = told(&run(command.env("ORRERY_CONNECTION", &wrong)), 1).1;
    assert!(
        err.contains("401") && err.contains("key of this account"),
        "{err}"
    );

    let config = directory.path().join("orrery");
    fs::create_dir(&config).unwrap();
    let profile =
        format!("[profile.home]\nconnection = '{text}'\ndatabase = 'my db'\nformat = 'csv'\n");
    fs::write(config.join("shell.toml"), profile).unwrap();
    let mut command = orrery(["shell", "--profile", "home", "-e", "containers"]);
    command.env("XDG_CONFIG_HOME", directory.path());
    let (out, _) = told(&command.output().unwrap(), 0);
    assert_eq!(out, "container,partitionKey\nbooks,/shelf\nids,/id\n");
}

#[test]
fn what_there_is_can_be_listed_and_described() {
    let (_directory, server) = library();
    let place = ["-d", "my db", "-n", "books", "-e"];
    let out = |statement: &str| {
        let output = shell(&server, &[&place[..], &[statement]].concat())
            .output()
            .unwrap();
        told(&output, 0).0
    };
    assert_eq!(out("databases"), "database\n--------\nmy db\n");
    let described = out("describe");
    for part in [
        "partition key  /shelf (Hash, version 2)",
        "throughput     500 RU/s",
        "time to live   on, without a default",
        "unique key     [\"/isbn\"]",
        "\"indexingMode\": \"consistent\"",
        "throttled",
    ] {
        assert!(described.contains(part), "{part}: {described}");
    }
    let partitions = out("partitions");
    assert!(
        partitions.starts_with("id  from  to  items  bytes"),
        "{partitions}"
    );
    assert!(
        partitions.lines().nth(2).unwrap().contains("FF"),
        "{partitions}"
    );
    assert_eq!(out("scripts"), "");
    assert!(out("help").contains("watch [every SECONDS]"));
    assert!(out("explain SELECT * FROM c WHERE c.n = 1").contains("point /n/? = 1"));
}

#[test]
fn queries_and_changes_are_watched() {
    let (_directory, server) = library();
    let place = ["-d", "my db", "-n", "books", "-o", "json", "-e"];
    let out = |statement: &str| {
        let output = shell(&server, &[&place[..], &[statement]].concat())
            .output()
            .unwrap();
        told(&output, 0).0
    };
    assert_eq!(
        out("watch every 0.01 times 2 SELECT VALUE c.n FROM c WHERE c.id = '1'"),
        "1\n1\n"
    );
    let changes = out("watch times 1 changes from beginning");
    assert_eq!(changes.lines().count(), 2, "{changes}");
    assert_eq!(out("watch times 1 changes"), "");
}

#[test]
fn with_tls_the_certificate_is_named_or_waived() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut command = orrery(["serve", "--listen", "127.0.0.1:0", "--ready-json"]);
    command.args(["--throughput", "off", "--data"]).arg(&data);
    let server = Server::start_as_is(command);
    let certificate = PathBuf::from(server.ready.certificate.clone().unwrap());
    let certificate = certificate.to_str().unwrap();
    for (trust, status) in [
        (&["--certificate", certificate][..], 0),
        // `--ca` verifies as every client with rustls does, which refuses the certificate of an
        // authority here.
        (&["--ca", certificate], 0),
        (&["--insecure"], 0),
        (&[], 1),
        (&["--ca", "missing.pem"], 1),
    ] {
        let output = shell(&server, &[trust, &["-e", "databases"]].concat())
            .output()
            .unwrap();
        let (_, err) = told(&output, status);
        match trust {
            [] => assert!(
                err.contains("--certificate FILE") && err.contains("--insecure"),
                "{err}"
            ),
            ["--ca", "missing.pem"] => assert!(err.contains("missing.pem"), "{err}"),
            _ => {}
        }
    }
}

#[test]
fn a_certificate_of_an_authority_is_trusted_with_the_authority() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let authority = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key).unwrap().pem();
        (Issuer::new(parameters, key), file(name, certificate))
    };
    let (issuer, ours) = authority("ours.pem");
    let (_, foreign) = authority("foreign.pem");
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned()];
    let leaf = CertificateParams::new(names).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let tls = [
        file("leaf.pem", leaf.pem()),
        file("leaf-key.pem", key.serialize_pem()),
    ];
    let mut command = orrery(["serve", "--memory", "--listen", "127.0.0.1:0"]);
    command.args([
        "--ready-json",
        "--throughput",
        "off",
        "--tls",
        &tls.join(","),
    ]);
    let server = Server::start_as_is(command);
    for (ca, status) in [(&ours, 0), (&foreign, 1)] {
        let output = shell(&server, &["--ca", ca, "-e", "databases"])
            .output()
            .unwrap();
        let (_, err) = told(&output, status);
        assert_eq!(err.contains("not trusted"), status == 1, "{err}");
    }
}
