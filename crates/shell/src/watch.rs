//! Statements that go on until they are cancelled.

use tokio::time::sleep;

use crate::changes::Changes;
use crate::error::Error;
use crate::output::note;
use crate::run::show_rows;
use crate::session::Session;
use crate::statement::{Watch, Watched};

pub(crate) async fn watch(session: &mut Session, watch: &Watch) -> Result<(), Error> {
    match &watch.what {
        Watched::Query(query) => {
            let mut round = 0;
            loop {
                session.output.clear_screen()?;
                let summary = show_rows(session, query).await?;
                note(&summary.to_string());
                round += 1;
                if watch.times == Some(round) {
                    return Ok(());
                }
                sleep(watch.every).await;
            }
        }
        Watched::Changes { from_beginning } => {
            let mut changes = Changes::of(session, *from_beginning).await?;
            let mut round = 0;
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
