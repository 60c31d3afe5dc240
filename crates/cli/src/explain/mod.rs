//! `orrery explain`: runs a query over the protocol and shows how its pages were found.
//!
//! The server sends the plan in the header `x-orrery-explain`, which only Orrery has. Another
//! server answers the query without this header, and the command reports that as an error. The HTTP
//! client is the client of the shell.

mod arguments;

use std::io::{self, Write};

use anyhow::{Context, Result, anyhow};
use orrery_client::{Client, Key};
use orrery_shell::{Query, page_text};

use crate::keys;
pub(crate) use arguments::ExplainArguments;

pub(crate) async fn explain(arguments: ExplainArguments) -> Result<()> {
    let key = keys::client_key(arguments.key.as_ref())?;
    let key = Key::new(key.expose().to_vec());
    let mut client = Client::new(arguments.endpoint, &key, arguments.trust);
    let parameters = arguments.parameter.into_iter();
    let mut pages = Query {
        database: arguments.database,
        container: arguments.container,
        text: arguments.query,
        parameters: parameters
            .map(|parameter| (parameter.name, parameter.value))
            .collect(),
        key: arguments.partition_key,
        page_items: arguments.page_items,
        explain: true,
    }
    .pages();
    for number in 1..=arguments.pages {
        let Some(page) = pages.next(&mut client).await? else {
            return Ok(());
        };
        // A page without a plan means that the server ignored the request for one.
        let plan = page.plan.ok_or_else(|| {
            anyhow!("the server answered the query but explains no plan; is it an Orrery?")
        })?;
        write(&page_text(number, page.charge, &plan))?;
    }
    if pages.has_more() {
        write("There are more pages: --pages N shows the first N of them.\n")?;
    }
    Ok(())
}

fn write(text: &str) -> Result<()> {
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write the plan")
}
