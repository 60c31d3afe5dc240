//! The processors that processes run on, set with the `taskset` of Linux.

use std::process::{Command, id};

use anyhow::{Context, Result, bail};

const PROGRAM: &str = "taskset";

/// Lets this process, and those it starts, run on one processor until it is dropped.
pub(crate) struct Pinned {
    before: Vec<u32>,
}

impl Pinned {
    /// To the first of the processors that it may run on; gives the second along with it.
    pub(crate) fn to_first() -> Result<(Pinned, u32)> {
        let said = run(&["-cp", &id().to_string()])?;
        let before = parse(&said)
            .with_context(|| format!("{PROGRAM} names no processors: {}", said.trim()))?;
        let [first, second, ..] = before[..] else {
            bail!("two processors are needed, one for each region");
        };
        set(&[first])?;
        Ok((Pinned { before }, second))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // What is measured after this would only be slower.
        let _ = set(&self.before);
    }
}

/// The same command on one processor.
pub(crate) fn on(processor: u32, command: &Command) -> Command {
    let mut pinned = Command::new(PROGRAM);
    pinned
        .args(["-c", &processor.to_string()])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => pinned.env(name, value),
            None => pinned.env_remove(name),
        };
    }
    pinned
}

/// Of all threads of this process.
fn set(processors: &[u32]) -> Result<()> {
    let list: Vec<_> = processors.iter().map(ToString::to_string).collect();
    run(&["-acp", &list.join(","), &id().to_string()])?;
    Ok(())
}

fn run(arguments: &[&str]) -> Result<String> {
    let output = Command::new(PROGRAM).args(arguments).output();
    let output = output.with_context(|| {
        format!("starting {PROGRAM}: this part needs it, and so Linux with util-linux")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{PROGRAM} ended with {}: {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The list after the colon: `0,2-3`.
fn parse(said: &str) -> Option<Vec<u32>> {
    let (_, list) = said.trim().rsplit_once(": ")?;
    let ranges = list.split(',').map(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse().ok()?..=to.parse().ok()?)
    });
    let ranges: Option<Vec<_>> = ranges.collect();
    Some(ranges?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_numbers_and_ranges() {
        let cases = [
            ("pid 7's current affinity list: 0,1\n", Some(vec![0, 1])),
            (
                "pid 7's current affinity list: 0,2-4,9\n",
                Some(vec![0, 2, 3, 4, 9]),
            ),
            ("pid 7's current affinity list: \n", None),
            ("no such process", None),
        ];
        for (said, expected) in cases {
            assert_eq!(parse(said), expected, "{said}");
        }
    }

    #[test]
    fn a_command_stays_what_it_is() {
        let mut command = Command::new("program");
        command
            .args(["a", "b"])
            .env("NAME", "value")
            .env_remove("GONE");
        let pinned = on(3, &command);
        assert_eq!(pinned.get_program(), PROGRAM);
        let arguments: Vec<_> = pinned.get_args().collect();
        assert_eq!(arguments, ["-c", "3", "program", "a", "b"]);
        assert!(pinned.get_envs().eq(command.get_envs()));
    }
}
