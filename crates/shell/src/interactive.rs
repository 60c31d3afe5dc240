//! The dialogue on a terminal.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};
use tokio::runtime::Runtime;
use tokio::select;

use crate::editor::Assistant;
use crate::error::Error;
use crate::output::note;
use crate::places;
use crate::run::{self, Next};
use crate::session::Session;
use crate::split::statements;

/// Rows of a page, so that the first ones come soon.
const PAGE_ITEMS: i32 = 100;
const HISTORY_LINES: usize = 2_000;
const GREETING: &str = "Orrery shell. `help` lists the commands, Tab completes, Ctrl-D leaves.";

pub(crate) fn run(
    runtime: Runtime,
    mut session: Session,
    history: Option<PathBuf>,
) -> Result<ExitCode, Error> {
    session.page_items = Some(PAGE_ITEMS);
    let runtime = Rc::new(runtime);
    let session = Rc::new(RefCell::new(session));
    let mut editor = editor(&runtime, &session)?;
    let history = history.filter(|path| load(&mut editor, path));
    note(GREETING);
    loop {
        let prompt = prompt(&session.borrow());
        let text = match editor.readline(&prompt) {
            Ok(text) => text,
            // Ctrl-C gives up what was typed, not the shell.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(Error::Terminal(error)),
        };
        if text.trim().is_empty() {
            continue;
        }
        remember(
            &mut editor,
            &session.borrow(),
            text.trim_end(),
            history.as_deref(),
        );
        let next = runtime.block_on(dialogue(&mut session.borrow_mut(), &text));
        if next == Next::End {
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(assistant) = editor.helper() {
            assistant.forget();
        }
    }
}

/// Runs what was typed; Ctrl-C ends it.
async fn dialogue(session: &mut Session, text: &str) -> Next {
    for split in statements(text) {
        let outcome = select! {
            outcome = run::statement(session, &split.text) => outcome,
            _ = tokio::signal::ctrl_c() => {
                note("cancelled");
                return Next::Statement;
            }
        };
        match outcome {
            Ok(Next::Statement) => {}
            Ok(Next::End) => return Next::End,
            Err(error) => {
                note(&error.report());
                return Next::Statement;
            }
        }
    }
    Next::Statement
}

fn editor(
    runtime: &Rc<Runtime>,
    session: &Rc<RefCell<Session>>,
) -> Result<Editor<Assistant, DefaultHistory>, Error> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES)
        .map_err(Error::Terminal)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config).map_err(Error::Terminal)?;
    let dumb = places::environment("TERM").is_some_and(|terminal| terminal == "dumb");
    let colour = !dumb && places::environment("NO_COLOR").is_none();
    let assistant = Assistant::new(Rc::clone(runtime), Rc::clone(session), colour);
    editor.set_helper(Some(assistant));
    Ok(editor)
}

fn prompt(session: &Session) -> String {
    match (&session.database, &session.container) {
        (Some(database), Some(container)) => format!("{database}/{container}> "),
        (Some(database), None) => format!("{database}> "),
        _ => "orrery> ".to_owned(),
    }
}

/// Whether there can be a history; a shell without one is still a shell.
fn load(editor: &mut Editor<Assistant, DefaultHistory>, path: &Path) -> bool {
    if let Some(directory) = path.parent()
        && let Err(error) = places::make_private(directory)
    {
        note(&format!(
            "no history: cannot make {}: {error}",
            directory.display()
        ));
        return false;
    }
    match editor.load_history(path) {
        Ok(()) => true,
        Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => {
            note(&format!(
                "no history: cannot read {}: {error}",
                path.display()
            ));
            false
        }
    }
}

/// Writes it down at once, so that a shell that is killed loses nothing; never with a key.
fn remember(
    editor: &mut Editor<Assistant, DefaultHistory>,
    session: &Session,
    text: &str,
    history: Option<&Path>,
) {
    if session.key.is_in(text) || text.to_ascii_lowercase().contains("accountkey=") {
        return;
    }
    let added = editor.add_history_entry(text);
    if let (Ok(true), Some(path)) = (added, history)
        && let Err(error) = editor.append_history(path)
    {
        note(&format!("cannot write {}: {error}", path.display()));
    }
}
