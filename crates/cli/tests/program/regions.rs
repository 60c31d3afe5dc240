//! An account with regions in one process, as its operator sees it.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::Path;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{Server, orrery};

const TWO: [&str; 3] = ["--memory", "--region=West US", "--region=North Europe"];

const WAIT_MAX: Duration = Duration::from_mins(1);

/// An order to a server in memory.
fn order(server: &Server, words: &[&str]) -> Output {
    let management = server.ready.management.as_ref().unwrap();
    let mut command = orrery(["region", "--json", "--management", &management.endpoint]);
    command.args(["--management-key", management.key.as_ref().unwrap()]);
    command.args(words).output().unwrap()
}

#[track_caller]
fn done(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What each region is, by name.
#[track_caller]
fn states(output: &Output) -> Vec<(String, String)> {
    let report = done(output);
    let regions = report["regions"].as_array().unwrap().iter();
    let text = |region: &Value, name: &str| region[name].as_str().unwrap().to_owned();
    regions
        .map(|region| (text(region, "name"), text(region, "state")))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = expected.iter();
    pairs
        .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()))
        .collect()
}

#[track_caller]
fn eventually(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < WAIT_MAX, "it never came true");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_region_has_its_listener() {
    let server = Server::start(orrery(TWO));
    let regions = server.ready.regions.as_ref().unwrap();
    let names: Vec<_> = regions.iter().map(|region| region.name.as_str()).collect();
    assert_eq!(names, ["West US", "North Europe"]);
    assert_eq!(regions[0].endpoint, server.ready.endpoint);
    assert_ne!(regions[0].endpoint, regions[1].endpoint);
    for region in regions {
        let (status, _) = server.get_at(&region.endpoint, "/ready");
        assert_eq!(status, "HTTP/1.1 200 OK", "{}", region.name);
        let (_, metrics) = server.get_at(&region.endpoint, "/metrics");
        let line = r#"orrery_region_state{region="West US",state="write"} 1"#;
        assert!(metrics.lines().any(|other| other == line), "{metrics}");
    }
    let expected = pairs(&[("West US", "write"), ("North Europe", "read")]);
    eventually(|| states(&order(&server, &["list"])) == expected);
}

#[test]
fn regions_come_and_go_where_every_region_writes() {
    let server = Server::start(orrery(TWO.into_iter().chain(["--multi-write"])));
    done(&order(&server, &["add", "East Asia"]));
    let refused = |words: &[&str], why: &str| {
        let output = order(&server, words);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && stderr.contains(why), "{stderr}");
    };
    refused(&["remove", "westus"], "is the hub");
    let found = states(&order(&server, &["remove", "northeurope"]));
    let expected = [
        ("West US", "write"),
        ("North Europe", "removed"),
        ("East Asia", "write"),
    ];
    assert_eq!(found, pairs(&expected));
    states(&order(&server, &["down", "eastasia"]));
    refused(&["remove", "eastasia"], "by force");
    // With two regions left, one region alone is no majority against the other.
    let forced = ["failover", "westus", "--forced", "--offline", "eastasia"];
    states(&order(&server, &forced));
    states(&order(&server, &["up", "eastasia"]));
    eventually(|| states(&order(&server, &["list"]))[2].1 == "removed");
}

#[test]
fn a_region_goes_down_and_comes_back() {
    let server = Server::start(orrery(TWO));
    let away = server.ready.regions.as_ref().unwrap()[1].endpoint.clone();
    let status = |endpoint: &str| server.get_at(endpoint, "/ready").0;
    let whole = server.ready.account.clone().unwrap();
    states(&order(&server, &["down", "northeurope"]));
    assert!(status(&away).contains("503"));
    assert!(status(&server.ready.endpoint).contains("200"));
    states(&order(&server, &["up", "northeurope"]));
    eventually(|| status(&away).contains("200"));
    states(&order(&server, &["down", "westus"]));
    assert!(status(&server.ready.endpoint).contains("503"));
    assert!(status(&whole).contains("200"), "the account is there");
}

#[test]
fn the_account_listens_where_it_is_told() {
    // A port below the range from which systems hand out ports, so that no other program takes it.
    let first = 15_000 + std::process::id() % 10_000;
    let mut addresses = (first..).map(|port| format!("127.0.0.1:{port}"));
    let address = addresses.find(|address| std::net::TcpListener::bind(address).is_ok());
    let address = address.unwrap();
    let mut command = orrery(TWO);
    command.args(["--account-listen", &address]);
    let server = Server::start(command);
    let expected = format!("http://{address}/");
    assert_eq!(server.ready.account.as_deref(), Some(expected.as_str()));
    let (status, _) = server.get_at(&expected, "/ready");
    assert_eq!(status, "HTTP/1.1 200 OK");
}

#[test]
fn the_write_region_moves() {
    let server = Server::start(orrery(TWO));
    states(&order(&server, &["failover", "North Europe"]));
    let expected = pairs(&[("West US", "read"), ("North Europe", "write")]);
    eventually(|| states(&order(&server, &["list"])) == expected);
}

#[test]
fn links_take_orders_in_each_direction() {
    let server = Server::start(orrery(TWO));
    let report = done(&order(&server, &["delay", "westus", "*", "40"]));
    let delays = |report: &Value| -> Vec<(String, u64)> {
        let links = report["links"].as_array().unwrap().iter();
        links
            .map(|link| {
                let from = link["from"].as_str().unwrap().to_owned();
                (from, link["delayMillis"].as_u64().unwrap())
            })
            .collect()
    };
    let mut found = delays(&report);
    found.sort();
    let expected = [("North Europe".to_owned(), 0), ("West US".to_owned(), 40)];
    assert_eq!(found, expected);
}

#[test]
fn orders_need_the_key_and_make_sense() {
    let server = Server::start(orrery(TWO));
    let management = &server.ready.management.as_ref().unwrap().endpoint;
    let mut stranger = orrery(["region", "list", "--management", management]);
    let stranger = stranger
        .args(["--management-key", "guess"])
        .output()
        .unwrap();
    for (output, phrase) in [
        (stranger, "401"),
        (order(&server, &["down", "Chile"]), "no region 'Chile'"),
        (
            order(&server, &["cut", "westus", "west-us"]),
            "no such link",
        ),
        (order(&server, &["add", "west us"]), "already"),
        (order(&server, &["add", "*"]), "no name for a region"),
    ] {
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(phrase), "{stderr}");
    }
}

#[cfg(unix)]
#[test]
fn an_added_region_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let on = |data: &Path| -> Command {
        let mut command = orrery([
            "serve",
            "--region=West US",
            "--region=North Europe",
            "--data",
        ]);
        command.arg(data);
        command
    };
    let ask = |words: &[&str]| {
        let mut command = orrery(["region", "--json", "--data"]);
        command.arg(&data).args(words).output().unwrap()
    };
    let server = Server::start(on(&data));
    assert!(server.ready.management.as_ref().unwrap().key_file.is_some());
    let added = done(&ask(&["add", "East Asia"]));
    assert_eq!(added["name"], "East Asia");
    let endpoint = added["endpoint"].as_str().unwrap();
    assert!(server.get_at(endpoint, "/ready").0.contains("200"));
    assert_eq!(server.stop("-TERM").0, Some(0));
    let stale = String::from_utf8(ask(&["list"]).stderr).unwrap();
    assert!(stale.contains("management.json"), "{stale}");

    let server = Server::start(on(&data));
    let names: Vec<_> = states(&ask(&["list"]))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["West US", "North Europe", "East Asia"]);
    assert_eq!(server.stop("-TERM").0, Some(0));

    let alone = orrery(["serve", "--tls=off", "--listen=0", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    let message = String::from_utf8(alone.stderr).unwrap();
    assert!(message.contains("name them with --region"), "{message}");
}
