//! The line editor's view of the shell: colours, completion, and where a statement ends.

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

use crate::session::Session;
use crate::split::is_complete;
use vocabulary::Vocabulary;

/// How long the Tab key may wait for names.
const NAMES_TIMEOUT: Duration = Duration::from_millis(1_500);

pub(crate) struct Assistant {
    runtime: Rc<Runtime>,
    session: Rc<RefCell<Session>>,
    vocabulary: RefCell<Vocabulary>,
    colour: bool,
}

impl Assistant {
    pub(crate) fn new(runtime: Rc<Runtime>, session: Rc<RefCell<Session>>, colour: bool) -> Self {
        Assistant {
            runtime,
            session,
            vocabulary: RefCell::default(),
            colour,
        }
    }

    /// What a statement may have changed is asked for again.
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
        let mut session = self.session.borrow_mut();
        let learn = vocabulary.learn(&mut session, &names);
        self.runtime.block_on(async {
            // Without names there are still words to offer.
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

    fn highlight_char(&self, _line: &str, _position: usize, kind: CmdKind) -> bool {
        self.colour && !matches!(kind, CmdKind::MoveCursor)
    }
}

impl Validator for Assistant {
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
