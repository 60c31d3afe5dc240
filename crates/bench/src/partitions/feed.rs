//! Reads the whole change feed of a container, with one connection for each partition key range.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::client_pool::{ClientPool, PoolClient};
use crate::request::Target;
use crate::response::header_lines;

const PAGE_ITEMS: u64 = 1000;
const OK: u16 = 200;
const NOT_MODIFIED: u16 = 304;

/// The rate of the feed in items a second, over all ranges.
pub(super) async fn stream(target: &Target, ranges: Vec<String>, items: u64) -> Result<f64> {
    // As SDKs do, each range is read on its own connection.
    let count = u16::try_from(ranges.len())?;
    let pool = ClientPool {
        target: target.clone(),
        connections: count,
        threads: count,
    };
    let ranges = Arc::new(ranges);
    let begun = Instant::now();
    let read = pool.work(move |client| read_range(client, Arc::clone(&ranges)));
    let read: u64 = read.await.context("the change feed")?.into_iter().sum();
    let seconds = begun.elapsed().as_secs_f64();
    // A feed that misses or repeats items has no meaningful rate.
    ensure!(read == items, "the change feed had {read} of {items} items");
    Ok(items as f64 / seconds)
}

async fn read_range(mut client: PoolClient, ranges: Arc<Vec<String>>) -> Result<u64> {
    let range = &ranges[usize::from(client.number)];
    let mut position: Option<String> = None;
    let mut read = 0;
    loop {
        let after = position.as_deref();
        client.writer.changes(range, after, PAGE_ITEMS);
        let exchange = client.connection.exchange(client.writer.bytes()).await;
        let response = exchange.context("a page of the change feed")?;
        let header = |name: &[u8]| {
            let mut lines = header_lines(response.head_bytes);
            let value = lines.find(|line| line.0.eq_ignore_ascii_case(name))?.1;
            Some(String::from_utf8_lossy(value).trim().to_owned())
        };
        match response.head.status {
            // 304 means that the feed has no more changes.
            NOT_MODIFIED => return Ok(read),
            OK => {
                let count = header(b"x-ms-item-count").and_then(|count| count.parse::<u64>().ok());
                read += count.context("a page of the change feed without a count")?;
                let etag = header(b"etag").context("a page of the change feed without an etag")?;
                // The etag of a change-feed page is the position after that page.
                position = Some(etag);
            }
            status => {
                let body = String::from_utf8_lossy(response.body);
                bail!("a page of the change feed was answered {status}: {body}");
            }
        }
    }
}
