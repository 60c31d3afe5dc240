//! Runs a program, showing its output as it comes and keeping it to be counted.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::outcome::{Counts, Outcome};

/// A program whose exit code is the whole verdict.
pub(crate) fn check(command: &mut Command) -> Result<Outcome> {
    let success = command
        .status()
        .with_context(|| describe(command))?
        .success();
    Ok(Outcome::Ran(Counts {
        passed: u64::from(success),
        failed: u64::from(!success),
    }))
}

/// A program that prepares for another; anything but success is an error.
pub(crate) fn prepare(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| describe(command))?;
    ensure!(
        status.success(),
        "{} ended with {status}",
        describe(command)
    );
    Ok(())
}

/// A test runner: `count` reads the totals out of its output, and a failing exit code without a
/// failing test (a crash, a compile error) counts as one failure.
pub(crate) fn count(command: &mut Command, count: fn(&str) -> Counts) -> Result<Outcome> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| describe(command))?;
    let output = child.stdout.take().context("the output is piped")?;
    let text = show_and_keep(output)?;
    let success = child.wait()?.success();
    let mut counts = count(&text);
    if !success && counts.failed == 0 {
        counts.failed = 1;
    }
    if success && counts == Counts::default() {
        return Ok(Outcome::Broken(format!(
            "{} ran no tests",
            describe(command)
        )));
    }
    Ok(Outcome::Ran(counts))
}

fn show_and_keep(output: impl std::io::Read) -> Result<String> {
    let mut reader = BufReader::new(output);
    let mut text = String::new();
    let mut line = Vec::new();
    let mut terminal = std::io::stdout();
    while reader.read_until(b'\n', &mut line)? > 0 {
        terminal.write_all(&line)?;
        terminal.flush()?;
        text.push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(text)
}

fn describe(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
