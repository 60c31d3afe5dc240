//! Stops after each screen of a long result until the reader wants more.

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::write;
use crate::error::Error;

const QUESTION: &str = "-- Enter for more, a for all, q to stop -- ";

/// Counts the lines of one result on the screen.
pub(super) struct Pager {
    editor: DefaultEditor,
    /// The lines shown since the last question.
    lines: usize,
    all: bool,
}

impl Pager {
    /// None without a terminal.
    pub(super) fn new() -> Option<Pager> {
        Some(Pager {
            editor: DefaultEditor::new().ok()?,
            lines: 0,
            all: false,
        })
    }

    /// Begins a new result. The answer `a` applies to one result only.
    pub(super) fn begin(&mut self) {
        self.lines = 0;
        self.all = false;
    }

    /// The columns of the screen.
    pub(super) fn width(&mut self) -> usize {
        self.dimensions().0
    }

    pub(super) fn clear_screen(&mut self) -> Result<(), Error> {
        self.editor.clear_screen().map_err(Error::Terminal)
    }

    /// Writes lines. Returns false if the reader has answered `q`.
    pub(super) fn write(&mut self, text: &str) -> Result<bool, Error> {
        for line in text.split_inclusive('\n') {
            // Read for every line, since the user may resize the terminal.
            let height = self.dimensions().1;
            // The question takes the last line of the screen.
            if !self.all && self.lines + 1 >= height {
                if !self.ask()? {
                    return Ok(false);
                }
                self.lines = 0;
            }
            write(line)?;
            self.lines += 1;
        }
        Ok(true)
    }

    /// Asks the reader. Returns whether the result continues.
    fn ask(&mut self) -> Result<bool, Error> {
        match self.editor.readline(QUESTION) {
            Ok(answer) => {
                let answer = answer.trim().to_ascii_lowercase();
                self.all = answer == "a";
                Ok(answer != "q")
            }
            // Ctrl-C and Ctrl-D end the result and not the shell.
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(false),
            Err(error) => Err(Error::Terminal(error)),
        }
    }

    /// The columns and lines of the screen.
    fn dimensions(&mut self) -> (usize, usize) {
        let (columns, lines) = self.editor.dimensions().unwrap_or((80, 24));
        // A terminal of unknown size reports zero.
        let known = |count: u16, otherwise: usize| match count {
            0 => otherwise,
            count => usize::from(count),
        };
        (known(columns, 80), known(lines, 24))
    }
}
