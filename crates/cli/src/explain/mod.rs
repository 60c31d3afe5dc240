//! `orrery explain`: runs a query over the protocol and shows how its pages were found.
//!
//! The server says it in a header that only Orrery knows (`x-orrery-explain`); another server
//! answers the query and leaves the plan out, which is an error here.

mod arguments;
mod client;
mod endpoint;
mod plan;
mod signature;
mod text;
mod trust;

use std::io::{self, Write};

use anyhow::{Context, Result};

pub(crate) use arguments::ExplainArguments;
use client::{Client, Query};

pub(crate) async fn explain(arguments: ExplainArguments) -> Result<()> {
    let body = arguments.body();
    let mut query = Query {
        database: &arguments.database,
        container: &arguments.container,
        partition_key: arguments.partition_key.as_ref().map(ToString::to_string),
        page_items: arguments.page_items,
        continuation: None,
        body: &body,
    };
    let mut client = Client::connect(&arguments).await?;
    for number in 1..=arguments.pages {
        let page = client.page(&query).await?;
        write(&text::page(number, &page))?;
        match page.continuation {
            None => return Ok(()),
            more => query.continuation = more,
        }
    }
    write("There are more pages: --pages N shows the first N of them.\n")
}

fn write(text: &str) -> Result<()> {
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write the plan")
}
