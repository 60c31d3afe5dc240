//! Runs statements without a person, one after the other, until one fails.

use crate::error::Error;
use crate::output::print_message;
use crate::run::{self, Next};
use crate::session::ShellSession;
use crate::splitter::statements;

/// Runs a script. Returns the number of failed statements.
pub(crate) async fn run(
    session: &mut ShellSession,
    name: &str,
    text: &str,
    keep_going: bool,
) -> usize {
    let mut failures = 0;
    for split in statements(text) {
        match run::statement(session, &split.text).await {
            Ok(Next::Statement) => {}
            Ok(Next::End) => break,
            // The reader of the output has closed the pipe and needs no more rows.
            Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => break,
            Err(error) => {
                print_message(&format!("{name}:{}: {}", split.line, error.report()));
                failures += 1;
                if !keep_going {
                    break;
                }
            }
        }
    }
    failures
}
