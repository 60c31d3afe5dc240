//! Stops after each screen of a long result until the reader wants more.

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::write;
use crate::error::Error;

const QUESTION: &str = "-- Enter for more, a for all, q to stop -- ";

pub(super) struct Pager {
    editor: DefaultEditor,
    /// Lines shown since the reader was last asked.
    lines: usize,
    all: bool,
}

impl Pager {
    /// None where there is no terminal to ask on.
    pub(super) fn new() -> Option<Pager> {
        Some(Pager {
            editor: DefaultEditor::new().ok()?,
            lines: 0,
            all: false,
        })
    }

    pub(super) fn begin(&mut self) {
        self.lines = 0;
        self.all = false;
    }

    pub(super) fn width(&mut self) -> usize {
        self.dimensions().0
    }

    pub(super) fn clear_screen(&mut self) -> Result<(), Error> {
        self.editor.clear_screen().map_err(Error::Terminal)
    }

    pub(super) fn write(&mut self, text: &str) -> Result<bool, Error> {
        for line in text.split_inclusive('\n') {
            let height = self.dimensions().1;
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

    fn ask(&mut self) -> Result<bool, Error> {
        match self.editor.readline(QUESTION) {
            Ok(answer) => {
                let answer = answer.trim().to_ascii_lowercase();
                self.all = answer == "a";
                Ok(answer != "q")
            }
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(false),
            Err(error) => Err(Error::Terminal(error)),
        }
    }

    /// Columns and lines of the screen.
    fn dimensions(&mut self) -> (usize, usize) {
        let (columns, lines) = self.editor.dimensions().unwrap_or((80, 24));
        // A terminal that does not know its size says zero.
        let known = |count: u16, otherwise: usize| match count {
            0 => otherwise,
            count => usize::from(count),
        };
        (known(columns, 80), known(lines, 24))
    }
}
