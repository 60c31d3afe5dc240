//! One connection that asks queries and drains every page of the answers.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::case::{Asked, Case};
use super::data::Dataset;
use crate::crew::Member;
use crate::request::QueryHeaders;
use crate::response::header_lines;

const OK: u16 = 200;
const THROTTLED: u16 = 429;
const BACKOFF_DEFAULT_MS: u64 = 100;
/// A server that goes on without rows would be asked for ever.
const PAGES_MAX: u64 = 1_000_000;
const FAILURE_BODY_BYTES_MAX: usize = 2000;

pub(crate) struct Asker {
    member: Member,
    data: Dataset,
    pages: Vec<Vec<u8>>,
}

/// How much of an answer is kept to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The number of rows is counted.
    Count,
    /// Every row is compared with what was loaded.
    Rows,
    /// Likewise, and the server is asked for its metrics.
    RowsAndMetrics,
}

#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// From the first byte sent to the last received, over all pages.
    pub(crate) latency: Duration,
    pub(crate) pages: u64,
    pub(crate) received_bytes: u64,
    pub(crate) charge: f64,
    /// The server's own, added up over the pages.
    pub(crate) metrics: BTreeMap<String, f64>,
}

/// The server did not answer a query at all, for want of time or of a feature: unlike a wrong
/// answer no reason to give the run up.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refused {}

impl Asker {
    pub(crate) fn new(member: Member, data: Dataset) -> Self {
        Self {
            member,
            data,
            pages: Vec::new(),
        }
    }

    /// Asks, drains, and fails when the answer is wrong.
    pub(crate) async fn ask(&mut self, case: Case, asked: &Asked, keep: Keep) -> Result<Answer> {
        let answer = self.drain(case, asked, keep).await;
        let answer = answer.and_then(|answer| {
            if keep != Keep::Count {
                asked.expected.check(&self.data, &self.pages)?;
            }
            Ok(answer)
        });
        answer.with_context(|| format!("{} with {:?}", case.text(), asked.parameters))
    }

    async fn drain(&mut self, case: Case, asked: &Asked, keep: Keep) -> Result<Answer> {
        self.pages.clear();
        let body = asked.body(case.text());
        let key = asked.partition.map(|pk| format!("p{pk}"));
        let mut answer = Answer::default();
        let (mut rows, mut continuation) = (0, None::<String>);
        let began = Instant::now();
        loop {
            let headers = QueryHeaders {
                partition_key: key.as_deref(),
                continuation: continuation.as_deref(),
                metrics: keep == Keep::RowsAndMetrics,
            };
            self.member.writer.query(headers, body.as_bytes());
            let exchange = self
                .member
                .connection
                .exchange(self.member.writer.bytes())
                .await;
            let response = exchange.context("asking a query")?;
            match response.head.status {
                OK => {}
                THROTTLED => {
                    let pause = response.head.retry_after_ms.unwrap_or(BACKOFF_DEFAULT_MS);
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    continue;
                }
                status => {
                    let shown = response.body.len().min(FAILURE_BODY_BYTES_MAX);
                    let body = String::from_utf8_lossy(&response.body[..shown]);
                    return Err(Refused(format!("answer {status}: {body}")).into());
                }
            }
            answer.pages += 1;
            answer.received_bytes += response.received_bytes as u64;
            answer.charge += response.head.charge;
            let page = PageHeaders::read(response.head_bytes);
            rows += page.items.context("no x-ms-item-count in the answer")?;
            if let Some(metrics) = page.metrics {
                add_metrics(&mut answer.metrics, &metrics);
            }
            if keep != Keep::Count {
                self.pages.push(response.body.to_vec());
            }
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
            ensure!(answer.pages < PAGES_MAX, "the answer does not end");
        }
        answer.latency = began.elapsed();
        let wanted = asked.expected.rows(&self.data);
        ensure!(rows == wanted, "{rows} rows instead of {wanted}");
        Ok(answer)
    }
}

#[derive(Debug, Default, PartialEq)]
struct PageHeaders {
    items: Option<u64>,
    continuation: Option<String>,
    metrics: Option<String>,
}

impl PageHeaders {
    fn read(head: &[u8]) -> Self {
        let mut page = Self::default();
        for (name, value) in header_lines(head) {
            let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            let text = || String::from_utf8_lossy(value).into_owned();
            if is("x-ms-item-count") {
                page.items = text().parse().ok();
            } else if is("x-ms-continuation") && !value.is_empty() {
                page.continuation = Some(text());
            } else if is("x-ms-documentdb-query-metrics") {
                page.metrics = Some(text());
            }
        }
        page
    }
}

/// `name=value` pairs between semicolons. Shares do not add up, so the last page's stays.
fn add_metrics(all: &mut BTreeMap<String, f64>, text: &str) {
    for (name, value) in text.split(';').filter_map(|pair| pair.split_once('=')) {
        let Ok(value) = value.trim().parse::<f64>() else {
            continue;
        };
        let sum = all.entry(name.trim().to_owned()).or_default();
        *sum = if name.ends_with("Ratio") {
            value
        } else {
            *sum + value
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_a_page() {
        let head = b"HTTP/1.1 200 OK\r\nx-ms-item-count: 7\r\nX-MS-Continuation: abc\r\n\
            x-ms-documentdb-query-metrics: a=1;b=2.5\r\n\r\n";
        let expected = PageHeaders {
            items: Some(7),
            continuation: Some("abc".to_owned()),
            metrics: Some("a=1;b=2.5".to_owned()),
        };
        assert_eq!(PageHeaders::read(head), expected);
    }

    #[test]
    fn a_refusal_is_known_by_its_cause() {
        let refused: Result<()> = Err(Refused("answer 408".to_owned()).into());
        let wrong: Result<()> = Err(anyhow::anyhow!("7 rows instead of 8"));
        for (result, expected) in [(refused, true), (wrong, false)] {
            let error = result.context("SELECT 1").unwrap_err();
            assert_eq!(error.is::<Refused>(), expected, "{error:#}");
        }
    }

    #[test]
    fn metrics_of_pages_add_up() {
        let mut all = BTreeMap::new();
        for page in [
            "loadedCount=2;hitRatio=0.5;odd=x",
            "loadedCount=3;hitRatio=0.25",
        ] {
            add_metrics(&mut all, page);
        }
        assert_eq!(
            format!("{all:?}"),
            "{\"hitRatio\": 0.25, \"loadedCount\": 5.0}"
        );
    }
}
