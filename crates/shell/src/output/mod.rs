//! The output of results: rows go to standard output in a format, everything else to standard
//! error.

mod csv;
mod json;
mod pager;
mod table;

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use orrery_json::Value;
use serde::Deserialize;

use crate::error::Error;
pub(crate) use json::pretty;
use pager::Pager;
use table::Layout;

/// The width of a terminal that does not report its width.
const WIDTH: usize = 80;

/// The format of rows. Messages have no format, because they go to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// Columns for people
    Table,
    /// One JSON value for each row; on one line each, unless it is for a terminal
    Json,
    /// Comma-separated, with a line of names first
    Csv,
}

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        ValueEnum::from_str(text, true)
    }
}

/// Formats results and writes them to standard output.
pub(crate) struct Output {
    pub(crate) format: Format,
    /// Whether a person reads the output.
    terminal: bool,
    pager: Option<Pager>,
    layout: Option<Layout>,
    /// The rows of a CSV result, which must wait: all column names are known only after the last
    /// row.
    csv: Vec<Value>,
}

impl Output {
    /// Only an interactive shell has a pager; a script must not wait for a key.
    pub(crate) fn new(format: Format, interactive: bool) -> Output {
        Output {
            format,
            terminal: io::stdout().is_terminal(),
            pager: interactive.then(Pager::new).flatten(),
            layout: None,
            csv: Vec::new(),
        }
    }

    /// Begins a new result.
    pub(crate) fn begin(&mut self) {
        self.layout = None;
        self.csv.clear();
        if let Some(pager) = &mut self.pager {
            pager.begin();
        }
    }

    /// Shows some rows of a result. Returns false if the reader has seen enough.
    pub(crate) fn rows(&mut self, rows: &[Value]) -> Result<bool, Error> {
        let text = match self.format {
            Format::Table => {
                let width = self.pager.as_mut().map_or(WIDTH, Pager::width);
                table::text(rows, self.terminal.then_some(width), &mut self.layout)
            }
            Format::Json => {
                let one = |row: &Value| {
                    if self.terminal {
                        pretty(row) + "\n"
                    } else {
                        // One value on one line, so that other programs can read the stream.
                        format!("{row}\n")
                    }
                };
                rows.iter().map(one).collect()
            }
            Format::Csv => {
                self.csv.extend_from_slice(rows);
                return Ok(true);
            }
        };
        self.text(&text)
    }

    /// Ends a result.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        if self.format == Format::Csv {
            let rows = std::mem::take(&mut self.csv);
            self.text(&csv::text(&rows))?;
        }
        Ok(())
    }

    /// Shows a whole result.
    pub(crate) fn all(&mut self, rows: &[Value]) -> Result<(), Error> {
        self.begin();
        self.rows(rows)?;
        self.end()
    }

    /// Writes text, through the pager if there is one. Returns false if the reader has seen enough.
    pub(crate) fn text(&mut self, text: &str) -> Result<bool, Error> {
        match &mut self.pager {
            Some(pager) => pager.write(text),
            None => write(text).map(|()| true),
        }
    }

    pub(crate) fn clear_screen(&mut self) -> Result<(), Error> {
        match &mut self.pager {
            Some(pager) => pager.clear_screen(),
            None => Ok(()),
        }
    }
}

/// Writes a text that is not a result.
pub(crate) fn print_message(text: &str) {
    // A failure to write to standard error has no other channel to be reported on.
    let _ = writeln!(io::stderr(), "{}", text.trim_end());
}

/// Writes to standard output.
fn write(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    // Flushed at once: a reader of the pipe may wait for these rows.
    written.and_then(|()| stdout.flush()).map_err(Error::Output)
}
