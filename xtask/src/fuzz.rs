//! `cargo xtask fuzz`: mangled input for everything that reads what clients and other regions send,
//! and programs that nobody wrote for the sandbox of scripts.
//!
//! Inputs are queries, documents and requests that are known to work, changed at random. There is
//! no feedback from the compiler, so that any toolchain will do. The work is done by tests, one of
//! this package and one of `orrery-script`: short runs of them are among the ordinary tests, and this
//! command makes them long.
//!
//! A round is a few thousand inputs that follow from its number alone. A finding names the round,
//! and the command with that number as seed begins with it.

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

const SECONDS: &str = "ORRERY_FUZZ_SECONDS";
const SEED: &str = "ORRERY_FUZZ_SEED";
/// Names the file that says which round is going on, for the case that the process dies in it.
const ROUND_FILE: &str = "ORRERY_FUZZ_ROUND_FILE";

const MINUTES_DEFAULT: u64 = 5;

/// A test that a run consists of, and how much of the time it gets.
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
            .env(SECONDS, (options.minutes * 15 * part.quarters).to_string())
            .env(SEED, options.seed.to_string())
            .env(ROUND_FILE, &round_file);
        let status = command.status().context("starting cargo")?;
        let round = fs::read_to_string(&round_file).ok();
        // It is only there if a run has begun, and a run that ends removes it.
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

fn round_file() -> PathBuf {
    std::env::temp_dir().join(format!("orrery-fuzz-{}", std::process::id()))
}

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

/// Different for every run, and short enough to be typed.
fn seed_of_the_moment() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
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
