//! Runs the programs of a step. Their output is kept, to be counted and to be shown again if something
//! failed; it is shown as it comes, or all at once at the end where steps run side by side.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};

use crate::outcome::{Counts, Outcome};

pub(crate) struct Console {
    is_live: bool,
    kept: Mutex<Vec<u8>>,
}

struct Finished {
    status: ExitStatus,
    /// Of standard output alone.
    text: String,
}

impl Console {
    pub(crate) fn live() -> Console {
        Console {
            is_live: true,
            kept: Mutex::default(),
        }
    }

    pub(crate) fn silent() -> Console {
        Console {
            is_live: false,
            kept: Mutex::default(),
        }
    }

    /// Everything that was printed.
    pub(crate) fn into_text(self) -> String {
        let kept = self.kept.into_inner();
        String::from_utf8_lossy(&kept.unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// A program whose exit code is the whole verdict.
    pub(crate) fn check(&self, command: &mut Command) -> Result<Outcome> {
        let success = self.run(command)?.status.success();
        Ok(Outcome::Ran(Counts {
            passed: u64::from(success),
            failed: u64::from(!success),
        }))
    }

    /// A program that prepares for another; anything but success is an error.
    pub(crate) fn prepare(&self, command: &mut Command) -> Result<()> {
        let status = self.run(command)?.status;
        ensure!(
            status.success(),
            "{} ended with {status}",
            describe(command)
        );
        Ok(())
    }

    /// A test runner: `count` reads the totals out of its output, and a failing exit code without a
    /// failing test (a crash, a compile error) counts as one failure.
    pub(crate) fn count(
        &self,
        command: &mut Command,
        count: fn(&str) -> Counts,
    ) -> Result<Outcome> {
        let Finished { status, text } = self.run(command)?;
        let mut counts = count(&text);
        if !status.success() && counts.failed == 0 {
            counts.failed = 1;
        }
        if status.success() && counts == Counts::default() {
            return Ok(Outcome::Broken(format!(
                "{} ran no tests",
                describe(command)
            )));
        }
        Ok(Outcome::Ran(counts))
    }

    fn run(&self, command: &mut Command) -> Result<Finished> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| describe(command))?;
        let output = child.stdout.take().context("the output is piped")?;
        let errors = child.stderr.take().context("the errors are piped")?;
        let text = thread::scope(|scope| {
            let errors = scope.spawn(|| self.take(errors));
            let text = self.take(output)?;
            errors
                .join()
                .map_err(|_| anyhow!("nobody reads the errors any more"))??;
            anyhow::Ok(text)
        })?;
        let status = child.wait()?;
        Ok(Finished { status, text })
    }

    fn take(&self, output: impl Read) -> Result<String> {
        let mut reader = BufReader::new(output);
        let mut text = String::new();
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            self.keep(&line)?;
            text.push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
        Ok(text)
    }

    fn keep(&self, line: &[u8]) -> Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(line);
        if self.is_live {
            let mut terminal = std::io::stdout();
            terminal.write_all(line)?;
            terminal.flush()?;
        }
        Ok(())
    }
}

fn describe(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
