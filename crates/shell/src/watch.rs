//! Repeats statements until the user cancels them.

use tokio::time::sleep;

use crate::changes::ChangeFeed;
use crate::error::Error;
use crate::output::print_message;
use crate::run::show_rows;
use crate::session::ShellSession;
use crate::statement::{Watch, WatchSubject};

/// Repeats a query, or follows the change feed, until the rounds are over.
pub(crate) async fn watch(session: &mut ShellSession, watch: &Watch) -> Result<(), Error> {
    match &watch.what {
        WatchSubject::Query(query) => {
            let mut round = 0;
            loop {
                // Each round replaces the rows of the round before.
                session.output.clear_screen()?;
                let summary = show_rows(session, query).await?;
                print_message(&summary.to_string());
                round += 1;
                if watch.times == Some(round) {
                    return Ok(());
                }
                // The pause begins after the rows are shown, so that a slow query does not run
                // without a pause.
                sleep(watch.every).await;
            }
        }
        WatchSubject::Changes { from_beginning } => {
            let mut changes = ChangeFeed::of(session, *from_beginning).await?;
            let mut round = 0;
            // All rounds are one result, so that a table has one head.
            session.output.begin();
            loop {
                let items = changes.poll(&mut session.client).await?;
                session.output.rows(&items)?;
                round += 1;
                if watch.times == Some(round) {
                    return session.output.end();
                }
                sleep(watch.every).await;
            }
        }
    }
}
