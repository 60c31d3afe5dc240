//! One connection that sends queries and reads every page of the answers.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::case::{BoundQuery, Case};
use super::data::Dataset;
use crate::client_pool::PoolClient;
use crate::request::QueryHeaders;
use crate::response::header_lines;

const OK: u16 = 200;
const THROTTLED: u16 = 429;
const BACKOFF_DEFAULT_MS: u64 = 100;
/// A limit on the pages of one answer, against a server whose continuation never ends.
const PAGES_MAX: u64 = 1_000_000;
const FAILURE_BODY_BYTES_MAX: usize = 2000;

pub(crate) struct QueryClient {
    client: PoolClient,
    data: Dataset,
    pages: Vec<Vec<u8>>,
}

/// How much of an answer the client checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckLevel {
    /// Only the number of rows.
    Count,
    /// Every row, against the loaded item.
    Rows,
    /// Every row; the client also requests the metrics of the server.
    RowsAndMetrics,
}

#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// From the first byte sent to the last byte received, over all pages.
    pub(crate) latency: Duration,
    pub(crate) pages: u64,
    pub(crate) received_bytes: u64,
    pub(crate) charge: f64,
    /// The query metrics of the server, added up over the pages.
    pub(crate) metrics: BTreeMap<String, f64>,
}

/// The server refused a query, because of its time limit or a missing feature. Unlike a wrong
/// answer a refusal does not end the run.
#[derive(Debug)]
pub(crate) struct QueryRefusal(String);

impl fmt::Display for QueryRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for QueryRefusal {}

impl QueryClient {
    pub(crate) fn new(client: PoolClient, data: Dataset) -> Self {
        Self {
            client,
            data,
            pages: Vec::new(),
        }
    }

    /// Sends a query, reads all pages, and fails if the answer is wrong.
    pub(crate) async fn run(
        &mut self,
        case: Case,
        bound: &BoundQuery,
        check_level: CheckLevel,
    ) -> Result<Answer> {
        let answer = self.drain(case, bound, check_level).await;
        let answer = answer.and_then(|answer| {
            if check_level != CheckLevel::Count {
                // The check runs after the clock has stopped, so that its time does not count.
                bound.expected.check(&self.data, &self.pages)?;
            }
            Ok(answer)
        });
        answer.with_context(|| format!("{} with {:?}", case.text(), bound.parameters))
    }

    /// Sends a query and reads all of its pages.
    async fn drain(
        &mut self,
        case: Case,
        bound: &BoundQuery,
        check_level: CheckLevel,
    ) -> Result<Answer> {
        self.pages.clear();
        let body = bound.body(case.text());
        let key = bound.partition.map(|pk| format!("p{pk}"));
        let mut answer = Answer::default();
        let (mut rows, mut continuation) = (0, None::<String>);
        let began = Instant::now();
        loop {
            let headers = QueryHeaders {
                partition_key: key.as_deref(),
                continuation: continuation.as_deref(),
                metrics: check_level == CheckLevel::RowsAndMetrics,
            };
            self.client.writer.query(headers, body.as_bytes());
            let exchange = self
                .client
                .connection
                .exchange(self.client.writer.bytes())
                .await;
            let response = exchange.context("asking a query")?;
            match response.head.status {
                OK => {}
                THROTTLED => {
                    let pause = response.head.retry_after_ms.unwrap_or(BACKOFF_DEFAULT_MS);
                    // The wait counts as latency, as it does for an application.
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    continue;
                }
                status => {
                    let shown = response.body.len().min(FAILURE_BODY_BYTES_MAX);
                    let body = String::from_utf8_lossy(&response.body[..shown]);
                    return Err(QueryRefusal(format!("answer {status}: {body}")).into());
                }
            }
            answer.pages += 1;
            answer.received_bytes += response.received_bytes as u64;
            answer.charge += response.head.charge;
            let page = PageHeaders::read(response.head_bytes);
            // Counted from the header, so that the body need not be parsed for most answers.
            rows += page.items.context("no x-ms-item-count in the answer")?;
            if let Some(metrics) = page.metrics {
                add_metrics(&mut answer.metrics, &metrics);
            }
            // Copying the bodies costs time, so it is done only for checked answers.
            if check_level != CheckLevel::Count {
                self.pages.push(response.body.to_vec());
            }
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
            ensure!(answer.pages < PAGES_MAX, "the answer does not end");
        }
        answer.latency = began.elapsed();
        let wanted = bound.expected.rows(&self.data);
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
    /// The headers of a page that the client needs.
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

/// Adds the metrics of a page: `name=value` pairs between semicolons. Ratios do not add up, so the
/// ratio of the last page stays.
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
        let refused: Result<()> = Err(QueryRefusal("answer 408".to_owned()).into());
        let wrong: Result<()> = Err(anyhow::anyhow!("7 rows instead of 8"));
        for (result, expected) in [(refused, true), (wrong, false)] {
            let error = result.context("SELECT 1").unwrap_err();
            assert_eq!(error.is::<QueryRefusal>(), expected, "{error:#}");
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
