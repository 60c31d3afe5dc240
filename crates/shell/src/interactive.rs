//! The interactive shell on a terminal.

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
use crate::output::print_message;
use crate::paths;
use crate::run::{self, Next};
use crate::session::ShellSession;
use crate::splitter::statements;

/// The rows of a page: few, so that the first rows come soon.
const PAGE_ITEMS: i32 = 100;
/// The statements that the history keeps.
const HISTORY_LINES: usize = 2_000;
const GREETING: &str = "Orrery shell. `help` lists the commands, Tab completes, Ctrl-D leaves.";

/// Runs the dialogue until the user leaves the shell.
pub(crate) fn run(
    runtime: Runtime,
    mut session: ShellSession,
    history: Option<PathBuf>,
) -> Result<ExitCode, Error> {
    session.page_items = Some(PAGE_ITEMS);
    let runtime = Rc::new(runtime);
    let session = Rc::new(RefCell::new(session));
    let mut editor = editor(&runtime, &session)?;
    // The shell never writes a history file that it cannot load, so a damaged file stays unchanged.
    let history = history.filter(|path| load(&mut editor, path));
    print_message(GREETING);
    loop {
        let prompt = prompt(&session.borrow());
        let text = match editor.readline(&prompt) {
            Ok(text) => text,
            // Ctrl-C discards the line and does not end the shell.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(Error::Terminal(error)),
        };
        if text.trim().is_empty() {
            continue;
        }
        // Before the statement runs, so that a statement which ends the shell is in the history
        // too.
        remember(
            &mut editor,
            &session.borrow(),
            text.trim_end(),
            history.as_deref(),
        );
        // The session is borrowed only here and during completion, which never overlap.
        let next = runtime.block_on(dialogue(&mut session.borrow_mut(), &text));
        if next == Next::End {
            return Ok(ExitCode::SUCCESS);
        }
        // The statement may have changed names.
        if let Some(assistant) = editor.helper() {
            assistant.forget();
        }
    }
}

/// Runs the statements of a line. Ctrl-C cancels them.
async fn dialogue(session: &mut ShellSession, text: &str) -> Next {
    for split in statements(text) {
        // Dropping the future of a statement cancels its request.
        let outcome = select! {
            outcome = run::statement(session, &split.text) => outcome,
            _ = tokio::signal::ctrl_c() => {
                print_message("cancelled");
                return Next::Statement;
            }
        };
        match outcome {
            Ok(Next::Statement) => {}
            Ok(Next::End) => return Next::End,
            Err(error) => {
                print_message(&error.report());
                // After an error the rest of the line is skipped, since it may depend on the failed
                // statement.
                return Next::Statement;
            }
        }
    }
    Next::Statement
}

/// Makes the line editor with colours and completion.
fn editor(
    runtime: &Rc<Runtime>,
    session: &Rc<RefCell<ShellSession>>,
) -> Result<Editor<Assistant, DefaultHistory>, Error> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES)
        .map_err(Error::Terminal)?
        // A leading space keeps a statement out of the history, as in common shells.
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config).map_err(Error::Terminal)?;
    let dumb = paths::environment("TERM").is_some_and(|terminal| terminal == "dumb");
    let colour = !dumb && paths::environment("NO_COLOR").is_none();
    let assistant = Assistant::new(Rc::clone(runtime), Rc::clone(session), colour);
    editor.set_helper(Some(assistant));
    Ok(editor)
}

/// The prompt names the database and the container in use.
fn prompt(session: &ShellSession) -> String {
    match (&session.database, &session.container) {
        (Some(database), Some(container)) => format!("{database}/{container}> "),
        (Some(database), None) => format!("{database}> "),
        _ => "orrery> ".to_owned(),
    }
}

/// Loads the history file. Returns false if the file cannot be used. A shell without a history
/// still works.
fn load(editor: &mut Editor<Assistant, DefaultHistory>, path: &Path) -> bool {
    if let Some(directory) = path.parent()
        && let Err(error) = paths::make_private(directory)
    {
        print_message(&format!(
            "no history: cannot make {}: {error}",
            directory.display()
        ));
        return false;
    }
    match editor.load_history(path) {
        Ok(()) => true,
        Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => {
            print_message(&format!(
                "no history: cannot read {}: {error}",
                path.display()
            ));
            false
        }
    }
}

/// Appends a statement to the history file at once, so that a killed shell loses nothing. A
/// statement with a key is never stored.
fn remember(
    editor: &mut Editor<Assistant, DefaultHistory>,
    session: &ShellSession,
    text: &str,
    history: Option<&Path>,
) {
    // The history is a plain file, and keys must not become part of it.
    if session.key.is_in(text) || text.to_ascii_lowercase().contains("accountkey=") {
        return;
    }
    let added = editor.add_history_entry(text);
    if let (Ok(true), Some(path)) = (added, history)
        && let Err(error) = editor.append_history(path)
    {
        print_message(&format!("cannot write {}: {error}", path.display()));
    }
}
