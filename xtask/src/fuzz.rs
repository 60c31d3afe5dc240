//! `cargo xtask fuzz`: mangled input for every parser of messages from clients and other regions,
//! and programs that attack the sandbox of scripts.
//!
//! Inputs are valid queries, documents and requests, changed at random. The fuzzer uses no feedback
//! from the compiler, so that any toolchain can run it. Tests do the work, one of this package and
//! one of `orrery-script`: short runs of both are ordinary tests, and this command makes them long.
//!
//! A round has a few thousand inputs that its number alone determines. A finding names its round,
//! and the command with this number as its seed begins with that round.

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod finding;
#[cfg(test)]
mod mutate;
#[cfg(test)]
mod random;
#[cfg(test)]
mod session;
#[cfg(test)]
mod targets;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// The variable with the duration of a run.
const SECONDS: &str = "ORRERY_FUZZ_SECONDS";
/// The variable with the number of the first round.
const SEED: &str = "ORRERY_FUZZ_SEED";
/// The variable with the path of a file that names the present round, in case the process dies in
/// it.
const ROUND_FILE: &str = "ORRERY_FUZZ_ROUND_FILE";

const MINUTES_DEFAULT: u64 = 5;

/// A test of a fuzz run, with its share of the time.
struct Part {
    arguments: &'static [&'static str],
    quarters: u64,
}

const PARTS: [Part; 2] = [
    Part {
        arguments: &[
            "--package",
            "xtask",
            "--",
            "--exact",
            "fuzz::session::nothing_panics",
        ],
        quarters: 3,
    },
    // Scripts, in their sandbox.
    Part {
        arguments: &["--package", "orrery-script", "--test", "fuzz", "--"],
        quarters: 1,
    },
];

/// Runs the parsers and then the scripts. A failure of the first one does not skip the second.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    let workspace = Workspace::find()?;
    let round_file = round_file();
    println!("seed {}", options.seed);
    let mut code = ExitCode::SUCCESS;
    for part in PARTS {
        let mut command = workspace.cargo(&["test", "--release"]);
        command
            .args(part.arguments)
            .arg("--nocapture")
            // A quarter of a minute has 15 seconds.
            .env(SECONDS, (options.minutes * 15 * part.quarters).to_string())
            .env(SEED, options.seed.to_string())
            .env(ROUND_FILE, &round_file);
        let status = command.status().context("starting cargo")?;
        let round = fs::read_to_string(&round_file).ok();
        // The file exists only while a run is in progress, since a run removes it at its end.
        if let Some(round) = round {
            println!("the process died in this round: cargo xtask fuzz --seed {round}");
            fs::remove_file(&round_file).context("removing the mark of the round")?;
        }
        if !status.success() {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// The path contains the process id, so that two runs never share the file.
fn round_file() -> PathBuf {
    std::env::temp_dir().join(format!("orrery-fuzz-{}", std::process::id()))
}

/// The flags of the command.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    minutes: u64,
    seed: u64,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options {
            minutes: MINUTES_DEFAULT,
            seed: seed_of_the_moment(),
        };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let value = match flag.as_str() {
                "--minutes" => &mut options.minutes,
                "--seed" => &mut options.seed,
                other => bail!("`{other}` is neither --minutes nor --seed"),
            };
            let text = rest
                .next()
                .with_context(|| format!("{flag} needs a number"))?;
            *value = text
                .parse()
                .with_context(|| format!("{flag} needs a number, not `{text}`"))?;
        }
        Ok(options)
    }
}

/// A seed that differs for every run and is short enough to type.
fn seed_of_the_moment() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // Multiples of 1000: runs of successive seconds do not repeat each other's rounds.
    since.map_or(0, |since| since.as_secs() % 1_000_000 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<Options> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn flags() {
        let both = options(&["--seed", "7", "--minutes", "2"]).unwrap();
        assert_eq!(
            both,
            Options {
                minutes: 2,
                seed: 7
            }
        );
        assert_eq!(options(&[]).unwrap().minutes, MINUTES_DEFAULT);
        for wrong in [&["--hours", "1"][..], &["--seed"], &["--seed", "x"]] {
            assert!(options(wrong).is_err(), "{wrong:?}");
        }
    }
}
