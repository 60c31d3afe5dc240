//! The whole change feed of a container, one connection for each partition key range.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::crew::{Crew, Member};
use crate::request::Target;
use crate::response::header_lines;

const PAGE_ITEMS: u64 = 1000;
const OK: u16 = 200;
const NOT_MODIFIED: u16 = 304;

/// Items a second, all ranges together.
pub(super) async fn stream(target: &Target, ranges: Vec<String>, items: u64) -> Result<f64> {
    let count = u16::try_from(ranges.len())?;
    let crew = Crew {
        target: target.clone(),
        connections: count,
        threads: count,
    };
    let ranges = Arc::new(ranges);
    let begun = Instant::now();
    let read = crew.work(move |member| read_range(member, Arc::clone(&ranges)));
    let read: u64 = read.await.context("the change feed")?.into_iter().sum();
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(read == items, "the change feed had {read} of {items} items");
    Ok(items as f64 / seconds)
}

async fn read_range(mut member: Member, ranges: Arc<Vec<String>>) -> Result<u64> {
    let range = &ranges[usize::from(member.number)];
    let mut position: Option<String> = None;
    let mut read = 0;
    loop {
        let after = position.as_deref();
        member.writer.changes(range, after, PAGE_ITEMS);
        let exchange = member.connection.exchange(member.writer.bytes()).await;
        let response = exchange.context("a page of the change feed")?;
        let header = |name: &[u8]| {
            let mut lines = header_lines(response.head_bytes);
            let value = lines.find(|line| line.0.eq_ignore_ascii_case(name))?.1;
            Some(String::from_utf8_lossy(value).trim().to_owned())
        };
        match response.head.status {
            NOT_MODIFIED => return Ok(read),
            OK => {
                let count = header(b"x-ms-item-count").and_then(|count| count.parse::<u64>().ok());
                read += count.context("a page of the change feed without a count")?;
                let etag = header(b"etag").context("a page of the change feed without an etag")?;
                position = Some(etag);
            }
            status => {
                let body = String::from_utf8_lossy(response.body);
                bail!("a page of the change feed was answered {status}: {body}");
            }
        }
    }
}
