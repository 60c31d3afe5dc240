//! Adapts the shell to the line editor: colours, completion, and the end of a statement.

mod complete;
mod paint;
mod vocabulary;

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::session::ShellSession;
use crate::splitter::is_complete;
use vocabulary::Vocabulary;

/// How long the Tab key may wait for names.
const NAMES_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The helper of the line editor. Its callbacks are synchronous, so it owns a runtime.
pub(crate) struct Assistant {
    runtime: Rc<Runtime>,
    session: Rc<RefCell<ShellSession>>,
    vocabulary: RefCell<Vocabulary>,
    colour: bool,
}

impl Assistant {
    pub(crate) fn new(
        runtime: Rc<Runtime>,
        session: Rc<RefCell<ShellSession>>,
        colour: bool,
    ) -> Self {
        Assistant {
            runtime,
            session,
            vocabulary: RefCell::default(),
            colour,
        }
    }

    /// Forgets the names, since a statement may have changed them.
    pub(crate) fn forget(&self) {
        self.vocabulary.borrow_mut().forget();
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let mut vocabulary = self.vocabulary.borrow_mut();
        let text = &line[..position];
        let names = complete::names_needed(text);
        // No statement runs while the user types, so this borrow cannot fail.
        let mut session = self.session.borrow_mut();
        // Names are read from the account within the key press, so the wait has a limit.
        let learn = vocabulary.learn(&mut session, &names);
        self.runtime.block_on(async {
            // Without names the completion still offers keywords and commands.
            let _ = timeout(NAMES_TIMEOUT, learn).await;
        });
        let (start, words) = complete::complete(text, line, &vocabulary);
        let pair = |word: String| Pair {
            display: word.clone(),
            replacement: word,
        };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _position: usize) -> Cow<'l, str> {
        if self.colour {
            Cow::Owned(paint::painted(line))
        } else {
            Cow::Borrowed(line)
        }
    }

    /// Whether a key press changes colours. Moving the cursor does not.
    fn highlight_char(&self, _line: &str, _position: usize, kind: CmdKind) -> bool {
        self.colour && !matches!(kind, CmdKind::MoveCursor)
    }
}

impl Validator for Assistant {
    /// Whether Enter runs the text. An incomplete statement gets another line instead.
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_complete(context.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Helper for Assistant {}
