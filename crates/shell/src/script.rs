//! Statements without a person: one after another, until one fails.

use crate::error::Error;
use crate::output::note;
use crate::run::{self, Next};
use crate::session::Session;
use crate::split::statements;

/// Gives the number of statements that failed.
pub(crate) async fn run(session: &mut Session, name: &str, text: &str, keep_going: bool) -> usize {
    let mut failures = 0;
    for split in statements(text) {
        match run::statement(session, &split.text).await {
            Ok(Next::Statement) => {}
            Ok(Next::End) => break,
            // Who reads the output has enough.
            Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => break,
            Err(error) => {
                note(&format!("{name}:{}: {}", split.line, error.report()));
                failures += 1;
                if !keep_going {
                    break;
                }
            }
        }
    }
    failures
}
