//! Runs the programs of a step. The console stores their output, to count tests in it and to show
//! it again after a failure. It shows the output as it comes, or, where steps run side by side, all
//! at once at the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};

use crate::outcome::{Outcome, TestCounts};

/// Runs programs, and stores their output.
pub(crate) struct Console {
    is_live: bool,
    output: Mutex<Vec<u8>>,
}

/// The result of a program that has ended.
struct ProgramOutput {
    status: ExitStatus,
    /// The text of standard output alone.
    text: String,
}

impl Console {
    /// A console for a step that runs alone: it shows each line at once.
    pub(crate) fn live() -> Console {
        Console {
            is_live: true,
            output: Mutex::default(),
        }
    }

    /// A console for steps that run side by side: their lines must not mix on the terminal.
    pub(crate) fn silent() -> Console {
        Console {
            is_live: false,
            output: Mutex::default(),
        }
    }

    /// All output of the programs.
    pub(crate) fn into_text(self) -> String {
        let output = self.output.into_inner();
        String::from_utf8_lossy(&output.unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Runs a program whose exit code is the verdict.
    pub(crate) fn check(&self, command: &mut Command) -> Result<Outcome> {
        let success = self.run(command)?.status.success();
        Ok(Outcome::Ran(TestCounts {
            passed: u64::from(success),
            failed: u64::from(!success),
        }))
    }

    /// Runs a program that prepares for another one. Any failure is an error.
    pub(crate) fn prepare(&self, command: &mut Command) -> Result<()> {
        let status = self.run(command)?.status;
        ensure!(
            status.success(),
            "{} ended with {status}",
            describe(command)
        );
        Ok(())
    }

    /// Runs a test runner. `count` reads the totals in its output; a failing exit code without a
    /// failing test (a crash, a compile error) counts as one failure.
    pub(crate) fn count(
        &self,
        command: &mut Command,
        count: fn(&str) -> TestCounts,
    ) -> Result<Outcome> {
        let ProgramOutput { status, text } = self.run(command)?;
        let mut counts = count(&text);
        if !status.success() && counts.failed == 0 {
            counts.failed = 1;
        }
        // A filter that matches no test must not pass as success.
        if status.success() && counts == TestCounts::default() {
            return Ok(Outcome::Broken(format!(
                "{} ran no tests",
                describe(command)
            )));
        }
        Ok(Outcome::Ran(counts))
    }

    /// Runs a program to its end.
    /// A program whose output says everything, whatever its exit code.
    pub(crate) fn text(&self, command: &mut Command) -> Result<String> {
        Ok(self.run(command)?.text)
    }

    /// A line of the step's own, among what its programs print.
    pub(crate) fn print_line(&self, line: &str) -> Result<()> {
        self.append(format!("{line}\n").as_bytes())
    }

    fn run(&self, command: &mut Command) -> Result<ProgramOutput> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| describe(command))?;
        let output = child.stdout.take().context("the output is piped")?;
        let errors = child.stderr.take().context("the errors are piped")?;
        // Both pipes are read at the same time: a program blocks when a full pipe is not read.
        let text = thread::scope(|scope| {
            let errors = scope.spawn(|| self.take(errors));
            let text = self.take(output)?;
            errors
                .join()
                .map_err(|_| anyhow!("nobody reads the errors any more"))??;
            anyhow::Ok(text)
        })?;
        let status = child.wait()?;
        Ok(ProgramOutput { status, text })
    }

    /// Reads one pipe to its end, line by line.
    fn take(&self, output: impl Read) -> Result<String> {
        let mut reader = BufReader::new(output);
        let mut text = String::new();
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            self.append(&line)?;
            // Output of a test with invalid UTF-8 must not end the step.
            text.push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
        Ok(text)
    }

    /// Stores a line, and shows it on a live console.
    fn append(&self, line: &[u8]) -> Result<()> {
        // The lock stays held while the line is printed: lines of both pipes must not mix.
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend_from_slice(line);
        if self.is_live {
            let mut terminal = std::io::stdout();
            terminal.write_all(line)?;
            terminal.flush()?;
        }
        Ok(())
    }
}

/// The command line, for error messages.
fn describe(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
