//! Data directories of earlier versions open, show what they had, and take writes.
//!
//! The fixtures in `tests/formats` were written by programs of those versions through the protocol,
//! together with the requests and answers that a reader must get ever after.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod archive;
mod expected;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::client::{Client, Response};
use crate::process::{Server, check, orrery};
use expected::{Expected, Read, Request};

const WAIT_MAX: Duration = Duration::from_mins(1);

/// A data directory of another version, and what it must show.
struct Fixture {
    name: String,
    root: TempDir,
    expected: Expected,
}

#[test]
fn directories_of_stopped_servers_open() {
    every_version("stopped", 4);
}

#[test]
fn directories_of_killed_servers_open() {
    every_version("killed", 4);
}

#[test]
fn directories_with_regions_open() {
    every_version("regions", 3);
}

#[test]
fn directories_in_which_every_region_writes_open() {
    every_version("multi-write", 3);
}

#[test]
fn directories_of_unknown_formats_are_refused_and_stay_whole() {
    let fixture = Fixture::unpack(&fixtures("stopped").pop().unwrap());
    let mark = fixture.data().join("FORMAT");
    let known = fs::read_to_string(&mark).unwrap();
    assert_eq!(known, "orrery 2\n");
    for number in ["1", "3", "20"] {
        fs::write(&mark, format!("orrery {number}\n")).unwrap();
        let sentence = format!(
            "data format {number} in {} is not known to this program, which writes format 2",
            mark.display()
        );
        let mut serve = fixture.serve();
        serve.args(["--listen", "127.0.0.1:0", "--tls", "off"]);
        for (output, code) in [(serve.output().unwrap(), 1), (check(&fixture.data()), 2)] {
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(code), "{text}");
            assert!(text.contains(&sentence), "{text}");
        }
    }
    fs::write(&mark, known).unwrap();
    fixture.assert_whole();
    let mut reader = fixture.open();
    reader.read(&fixture.expected.reads);
}

fn every_version(kind: &str, versions_min: usize) {
    let found = fixtures(kind);
    assert!(found.len() >= versions_min, "{found:?}");
    for path in found {
        let fixture = Fixture::unpack(&path);
        let expected = &fixture.expected;
        let lasting = || expected.reads.iter().filter(|read| !read.once);
        fixture.assert_whole();
        let mut reader = fixture.open();
        reader.read(&expected.reads);
        reader.stop();
        // What the start changed is there as well.
        fixture.assert_whole();
        let mut reader = fixture.open();
        reader.read(&expected.reads);
        reader.write(expected);
        reader.read(lasting());
        reader.read_later(expected);
        // It is killed, so the next start replays the writes.
        drop(reader);
        fixture.assert_whole();
        let mut reader = fixture.open();
        reader.read(lasting());
        reader.read_later(expected);
        reader.stop();
        fixture.assert_whole();
    }
}

/// The fixtures of a kind, one for each version that could write it.
fn fixtures(kind: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats");
    let versions = fs::read_dir(root).unwrap();
    let file = format!("{kind}.fixture");
    let paths = versions.map(|version| version.unwrap().path().join(&file));
    let mut paths: Vec<_> = paths.filter(|path| path.exists()).collect();
    paths.sort();
    paths
}

impl Fixture {
    fn unpack(path: &Path) -> Fixture {
        let root = tempfile::tempdir().unwrap();
        archive::unpack(&fs::read(path).unwrap(), root.path());
        let expected = fs::read(root.path().join("expected.json")).unwrap();
        Fixture {
            name: path.display().to_string(),
            root,
            expected: serde_json::from_slice(&expected).unwrap(),
        }
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn serve(&self) -> Command {
        let mut command = orrery(["serve", "--data"]);
        command.arg(self.data()).args(&self.expected.arguments);
        command
    }

    #[track_caller]
    fn assert_whole(&self) {
        let checked = check(&self.data());
        let report = String::from_utf8_lossy(&checked.stdout).into_owned();
        let errors = String::from_utf8_lossy(&checked.stderr);
        let name = &self.name;
        assert_eq!(checked.status.code(), Some(0), "{name}: {report}{errors}");
    }

    fn open(&self) -> Reader<'_> {
        Reader {
            fixture: &self.name,
            server: Server::start(self.serve()),
            clients: BTreeMap::new(),
        }
    }
}

/// Sends the requests of a fixture to a server on its directory.
struct Reader<'a> {
    fixture: &'a str,
    server: Server,
    clients: BTreeMap<Option<String>, Client>,
}

impl Reader<'_> {
    #[track_caller]
    fn read<'a>(&mut self, reads: impl IntoIterator<Item = &'a Read>) {
        for read in reads {
            let request = &read.request;
            self.eventually(request, |answer| {
                read.difference(answer.status, answer.header("etag"), &answer.body)
            });
        }
    }

    #[track_caller]
    fn write(&mut self, expected: &Expected) {
        for write in &expected.writes {
            let answer = self.send(&write.request);
            let place = format!("{}: {:?}", self.fixture, write.request);
            assert_eq!(answer.status, write.status, "{place}: {}", answer.body);
        }
    }

    /// Follows the change feeds from where the writer of the fixture stopped.
    #[track_caller]
    fn read_later(&mut self, expected: &Expected) {
        for later in &expected.later {
            let begun = Instant::now();
            loop {
                let mut found = Vec::new();
                for request in &later.requests {
                    let answer = self.send(request);
                    if answer.status == 200 {
                        found.extend(ids(&answer.body));
                    } else {
                        assert_eq!(answer.status, 304, "{request:?}: {}", answer.body);
                    }
                }
                found.sort();
                if found == later.ids {
                    break;
                }
                let place = format!("{}: {:?}", self.fixture, later.requests[0]);
                assert!(
                    self.may_wait(begun),
                    "{place}: {found:?}, not {:?}",
                    later.ids
                );
            }
        }
    }

    /// A region shows a moment after its start what it has missed; a server without regions has to
    /// be right at once.
    #[track_caller]
    fn eventually(&mut self, request: &Request, judge: impl Fn(&Response) -> Result<(), String>) {
        let begun = Instant::now();
        while let Err(difference) = judge(&self.send(request)) {
            let place = format!("{}: {request:?}", self.fixture);
            assert!(self.may_wait(begun), "{place}: {difference}");
        }
    }

    fn may_wait(&self, begun: Instant) -> bool {
        sleep(Duration::from_millis(20));
        self.server.ready.regions.is_some() && begun.elapsed() < WAIT_MAX
    }

    fn send(&mut self, request: &Request) -> Response {
        let client = self.clients.entry(request.region.clone());
        let client = client.or_insert_with(|| {
            let address = address_of(&self.server, request.region.as_deref());
            Client::connect(address, WAIT_MAX).unwrap()
        });
        let headers = request.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let Request {
            method,
            path,
            resource,
            link,
            body,
            ..
        } = request;
        let answer = client.send(method, path, resource, link, &headers, body);
        answer.unwrap_or_else(|error| panic!("{}: {request:?}: {error}", self.fixture))
    }

    fn stop(self) {
        drop(self.clients);
        stop(self.server);
    }
}

#[cfg(unix)]
fn stop(server: Server) {
    assert_eq!(server.stop("-TERM").0, Some(0));
}

#[cfg(not(unix))]
fn stop(server: Server) {
    drop(server);
}

fn address_of(server: &Server, region: Option<&str>) -> SocketAddr {
    let endpoint = match (region, &server.ready.regions) {
        (Some(name), Some(regions)) => {
            let region = regions.iter().find(|region| region.name == name);
            &region.unwrap().endpoint
        }
        _ => &server.ready.endpoint,
    };
    let address = endpoint.strip_prefix("http://").unwrap();
    address.trim_end_matches('/').parse().unwrap()
}

fn ids(feed: &str) -> Vec<String> {
    let feed: Value = serde_json::from_str(feed).unwrap();
    let items = feed["Documents"].as_array().unwrap().iter();
    let ids = items.map(|item| item["id"].as_str().unwrap().to_owned());
    ids.collect()
}
