//! The cases of the .NET SDKs, versions 3 and 2, which a program outside of this repository runs.
//!
//! `ORRERY_NET` names the program. A case may fail only if `tests/sdk/dotnet/exceptions.txt` lists it
//! with a reason; a listed case that passes fails the step too, so that the list stays true.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::console::Console;
use crate::outcome::{Outcome, TestCounts};
use crate::workspace::Workspace;

const VARIABLE: &str = "ORRERY_NET";

/// One run of the program, against a server of its own.
struct ProgramRun {
    /// Which of the SDKs.
    program: &'static str,
    /// The cases of the run, as a regular expression.
    filter: &'static str,
    server_flags: &'static [&'static str],
    /// Settings of the SDK, as environment variables.
    variables: &'static [(&'static str, &'static str)],
    /// The name of the address in the line that the server prints when it is ready.
    address: &'static str,
}

const REGIONS_FILTER: &str = "^regions:";

/// The .NET SDKs tell regions apart by host, so the account has a host of its own as well. The old
/// SDK trusts no certificate when it is given a resource token, so its server speaks plain HTTP.
const RUNS: [ProgramRun; 5] = [
    ProgramRun {
        program: "v3",
        filter: "^(?!regions:)",
        server_flags: &["--listen", "127.0.0.1:0"],
        variables: &[],
        address: "endpoint",
    },
    // Items in binary JSON.
    ProgramRun {
        program: "v3",
        filter: "^(item|batch|bulk|serializer):",
        server_flags: &["--listen", "127.0.0.1:0"],
        variables: &[("AZURE_COSMOS_BINARY_ENCODING_ENABLED", "True")],
        address: "endpoint",
    },
    ProgramRun {
        program: "v3",
        filter: REGIONS_FILTER,
        server_flags: &[
            "--region",
            "South Central US=127.0.0.2:0",
            "--region",
            "East US=127.0.0.3:0",
            "--account-listen",
            "127.0.0.1:0",
        ],
        variables: &[],
        address: "account",
    },
    ProgramRun {
        program: "v3",
        filter: REGIONS_FILTER,
        server_flags: &[
            "--multi-write",
            "--region",
            "South Central US=127.0.0.2:0",
            "--region",
            "East US=127.0.0.3:0",
            "--account-listen",
            "127.0.0.1:0",
        ],
        variables: &[],
        address: "account",
    },
    ProgramRun {
        program: "v2",
        filter: "",
        server_flags: &["--listen", "127.0.0.1:0", "--tls", "off"],
        variables: &[],
        address: "endpoint",
    },
];

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let Some(program) = env::var_os(VARIABLE) else {
        return Ok(Outcome::Skipped(format!(
            "{VARIABLE} names no program that runs the .NET SDKs"
        )));
    };
    if let Some(absent) = super::absent(workspace, "dotnet", "exceptions.txt") {
        return Ok(absent);
    }
    let list = workspace.suite("dotnet").join("exceptions.txt");
    let exceptions = std::fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let mut cases = Vec::new();
    for (run, mode) in RUNS
        .iter()
        .flat_map(|run| modes(run).map(move |mode| (run, mode)))
    {
        let server = Server::start(workspace, run)?;
        let mut command = Command::new(&program);
        command
            .args([run.program, "--endpoint", &server.endpoint])
            .args(["--mode", mode, "--filter", run.filter])
            .envs(run.variables.iter().copied());
        let output = console.text(&mut command)?;
        let of_run = read_cases(run.program, &output);
        if of_run.is_empty() {
            bail!("{} {} ran no cases", program.display(), run.program);
        }
        cases.extend(of_run);
    }
    let (counts, complaints) = judge(&cases, &exceptions);
    for complaint in complaints {
        console.print_line(&complaint)?;
    }
    Ok(Outcome::Ran(counts))
}

/// How the SDK of a run connects. The old SDK checks the certificate of direct mode like the
/// machine, which does not trust that of a run.
fn modes(run: &ProgramRun) -> impl Iterator<Item = &'static str> + use<> {
    let direct = (run.program == "v3").then_some("direct");
    ["gateway"].into_iter().chain(direct)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseResult {
    Passed,
    Failed,
    Skipped,
}

/// The cases of an output, each named `program: group: name`.
fn read_cases(program: &str, output: &str) -> Vec<(String, CaseResult)> {
    let cases = output.lines().filter_map(|line| {
        let (word, rest) = line.split_once(' ')?;
        let result = match word {
            "ok" => CaseResult::Passed,
            "FAIL" => CaseResult::Failed,
            "skip" => CaseResult::Skipped,
            _ => return None,
        };
        // The time follows a result, and the reason follows a skipped case. A reason with a colon makes
        // that name too long, which matters to no exception: a skipped case needs none.
        let rest = rest.trim_start();
        let name = match result {
            CaseResult::Skipped => rest.rsplit_once(": ").map_or(rest, |(name, _)| name),
            _ => rest.rsplit_once(" (").map_or(rest, |(name, _)| name),
        };
        Some((format!("{program}: {name}"), result))
    });
    cases.collect()
}

/// Counts the cases, and says which of them contradict the list of exceptions.
fn judge(cases: &[(String, CaseResult)], exceptions: &str) -> (TestCounts, Vec<String>) {
    let listed: Vec<&str> = exceptions
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .collect();
    let is_listed = |name: &str| {
        let mut lines = listed.iter().filter_map(|line| line.strip_prefix(name));
        lines.any(|rest| rest.starts_with(": "))
    };
    let (mut counts, mut complaints) = (TestCounts::default(), Vec::new());
    for (name, result) in cases {
        match (result, is_listed(name)) {
            (CaseResult::Passed, false) | (CaseResult::Failed, true) => counts.passed += 1,
            (CaseResult::Failed, false) => {
                counts.failed += 1;
                complaints.push(format!("{name} failed and is no known exception"));
            }
            (CaseResult::Passed, true) => {
                counts.failed += 1;
                complaints.push(format!("{name} passes: take it from the exceptions"));
            }
            (CaseResult::Skipped, _) => {}
        }
    }
    for line in listed {
        let is_case = |(name, _): &(String, CaseResult)| {
            line.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.starts_with(": "))
        };
        if !cases.iter().any(is_case) {
            counts.failed += 1;
            complaints.push(format!("no case is called as in the exception `{line}`"));
        }
    }
    (counts, complaints)
}

/// A server in memory, which ends with this value.
struct Server {
    process: Child,
    endpoint: String,
}

impl Server {
    fn start(workspace: &Workspace, run: &ProgramRun) -> Result<Server> {
        let binary = workspace.server_binary();
        let mut process = Command::new(&binary)
            .args(["serve", "--memory", "--ready-json"])
            .args(run.server_flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| binary.display().to_string())?;
        let output = process.stdout.take().context("the output is piped")?;
        let mut server = Server {
            process,
            endpoint: String::new(),
        };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        address(&line, run.address)
            .with_context(|| format!("the server named no address: {line}"))?
            .clone_into(&mut server.endpoint);
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has ended already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The first address of this name in the line that a server prints when it is ready.
fn address<'a>(ready: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = ready.split_once(&format!(r#""{name}":""#))?;
    let (address, _) = rest.split_once('"')?;
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "ok   item: read (12 ms)\nFAIL query: errors (carry) a message (5 ms)\n       \
                          Wrong: expected 400\nskip regions: two: the account has one region\n\n\
                          1 passed, 1 failed, 1 skipped";

    fn complaints(exceptions: &str) -> (TestCounts, Vec<String>) {
        judge(&read_cases("v3", OUTPUT), exceptions)
    }

    #[test]
    fn cases_are_read_with_their_results() {
        let names = [
            ("v3: item: read", CaseResult::Passed),
            ("v3: query: errors (carry) a message", CaseResult::Failed),
            ("v3: regions: two", CaseResult::Skipped),
        ];
        let names = names.map(|(name, result)| (name.to_owned(), result));
        assert_eq!(read_cases("v3", OUTPUT), names);
    }

    #[test]
    fn only_a_known_exception_may_fail() {
        let (counts, lines) = complaints("# none\n");
        assert_eq!((counts.passed, counts.failed), (1, 1));
        assert_eq!(
            lines,
            ["v3: query: errors (carry) a message failed and is no known exception"]
        );
        let (counts, lines) = complaints("v3: query: errors (carry) a message: it is so");
        assert_eq!((counts.passed, counts.failed), (2, 0), "{lines:?}");
        // The exception of another program, or of a case with a longer name, is none.
        for other in [
            "v2: query: errors (carry) a message: no",
            "v3: query: errors: no",
        ] {
            assert_eq!(complaints(other).0.failed, 2);
        }
    }

    #[test]
    fn an_exception_that_passes_or_does_not_exist_is_told() {
        let known = "v3: query: errors (carry) a message: it is so\n";
        let (counts, lines) = complaints(&format!("{known}v3: item: read: no more"));
        assert_eq!(counts.failed, 1);
        assert_eq!(
            lines,
            ["v3: item: read passes: take it from the exceptions"]
        );
        assert_eq!(
            complaints(&format!("{known}v3: item: gone: no")).0.failed,
            1
        );
    }

    #[test]
    fn addresses_are_found_by_name() {
        let line = r#"{"ready":true,"endpoint":"https://127.0.0.2:1/","account":"https://a/","regions":[{"endpoint":"https://x/"}]}"#;
        assert_eq!(address(line, "endpoint"), Some("https://127.0.0.2:1/"));
        assert_eq!(address(line, "account"), Some("https://a/"));
        assert_eq!(address("not ready", "endpoint"), None);
    }
}
