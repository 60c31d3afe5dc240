//! Runs queries: all rows, or until the reader has seen enough.

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::explain::page_text;
use crate::output::print_message;
use crate::session::ShellSession;
use crate::summary::Summary;

/// Runs a query and shows its pages as they arrive.
pub(crate) async fn show_rows(session: &mut ShellSession, query: &str) -> Result<Summary, Error> {
    let mut pages = session.query(query)?.pages();
    let mut summary = Summary::default();
    session.output.begin();
    loop {
        let begin = Instant::now();
        let page = pages.next(&mut session.client).await;
        // Measured around the request, so that the time of a reader at the pager does not count.
        summary.time += begin.elapsed();
        let Some(page) = page.map_err(|error| error.in_query(query))? else {
            break;
        };
        summary.rows += page.rows.len();
        summary.pages += 1;
        summary.charge += page.charge;
        // The reader has seen enough, so the remaining pages cost nothing.
        if !session.output.rows(&page.rows)? {
            summary.has_more = pages.has_more();
            break;
        }
    }
    session.output.end()?;
    Ok(summary)
}

/// Runs the first page of a query and shows its plan in place of its rows.
pub(super) async fn explain(session: &mut ShellSession, query: &str) -> Result<(), Error> {
    let mut explained = session.query(query)?;
    explained.explain = true;
    let begin = Instant::now();
    let page = explained.pages().next(&mut session.client).await;
    let page = page.map_err(|error| error.in_query(query))?;
    let plan = page
        .as_ref()
        .and_then(|page| Some((page, page.plan.as_ref()?)));
    let Some((page, plan)) = plan else {
        return Err(Error::Answer(
            "the server answered the query but explains no plan; is it an Orrery?".to_owned(),
        ));
    };
    session.output.begin();
    session.output.text(&page_text(1, page.charge, plan))?;
    print_message(&summary(page.rows.len(), page.charge, begin.elapsed()));
    Ok(())
}

/// The cost of a single page.
fn summary(rows: usize, charge: f64, time: Duration) -> String {
    let summary = Summary {
        rows,
        pages: 1,
        charge,
        time,
        has_more: false,
    };
    summary.to_string()
}
