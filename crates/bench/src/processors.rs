//! Pins processes to processors, with the `taskset` program of Linux.

use std::process::{Command, id};

use anyhow::{Context, Result, bail};

const PROGRAM: &str = "taskset";

/// Pins this process, and the processes that it starts, to one processor until the value is
/// dropped.
pub(crate) struct PinnedProcess {
    before: Vec<u32>,
}

impl PinnedProcess {
    /// Pins this process to the first of its allowed processors, and returns the second one too.
    pub(crate) fn to_first() -> Result<(PinnedProcess, u32)> {
        let output = run(&["-cp", &id().to_string()])?;
        let before = parse(&output)
            .with_context(|| format!("{PROGRAM} names no processors: {}", output.trim()))?;
        // The first processor is for this process, and the second one for the other region.
        let [first, second, ..] = before[..] else {
            bail!("two processors are needed, one for each region");
        };
        // Children inherit the processors, so the server that starts next is pinned as well.
        set(&[first])?;
        Ok((PinnedProcess { before }, second))
    }
}

impl Drop for PinnedProcess {
    fn drop(&mut self) {
        // After an error the following measurements run on one processor and only look slower.
        let _ = set(&self.before);
    }
}

/// The same command, pinned to one processor.
pub(crate) fn on(processor: u32, command: &Command) -> Command {
    let mut pinned = Command::new(PROGRAM);
    pinned
        .args(["-c", &processor.to_string()])
        .arg(command.get_program())
        .args(command.get_args());
    // A new command has none of the variables of the old one.
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => pinned.env(name, value),
            None => pinned.env_remove(name),
        };
    }
    pinned
}

/// Pins all threads of this process.
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
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{PROGRAM} ended with {}: {}", output.status, errors.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads the list after the colon: `0,2-3`.
fn parse(output: &str) -> Option<Vec<u32>> {
    let (_, list) = output.trim().rsplit_once(": ")?;
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
        for (output, expected) in cases {
            assert_eq!(parse(output), expected, "{output}");
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
