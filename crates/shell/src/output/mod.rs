//! Where results go: rows in a format to standard output, everything else to standard error.

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

/// Columns of a terminal that does not say how many it has.
const WIDTH: usize = 80;

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

pub(crate) struct Output {
    pub(crate) format: Format,
    /// Whether a person reads it.
    terminal: bool,
    pager: Option<Pager>,
    layout: Option<Layout>,
    /// Names are known only when all rows are there.
    csv: Vec<Value>,
}

impl Output {
    pub(crate) fn new(format: Format, interactive: bool) -> Output {
        Output {
            format,
            terminal: io::stdout().is_terminal(),
            pager: interactive.then(Pager::new).flatten(),
            layout: None,
            csv: Vec::new(),
        }
    }

    /// Begins a result of its own.
    pub(crate) fn begin(&mut self) {
        self.layout = None;
        self.csv.clear();
        if let Some(pager) = &mut self.pager {
            pager.begin();
        }
    }

    /// Shows some rows of a result; false if the reader has seen enough.
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

    /// A whole result.
    pub(crate) fn all(&mut self, rows: &[Value]) -> Result<(), Error> {
        self.begin();
        self.rows(rows)?;
        self.end()
    }

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

/// What is not a result.
pub(crate) fn note(text: &str) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(io::stderr(), "{}", text.trim_end());
}

fn write(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    written.and_then(|()| stdout.flush()).map_err(Error::Output)
}
