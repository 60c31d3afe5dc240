//! One case for some seconds on some connections, in a closed loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::case::{Case, Facts};
use super::client::{CheckLevel, QueryClient};
use super::data::Dataset;
use crate::client_pool::{ClientPool, PoolClient};
use crate::random::Random;

const LATENCY_NS_MAX: u64 = 600_000_000_000;
/// Of large answers only every answer whose number is a multiple of this is compared in full, since
/// the comparison of a hundred items takes the client longer than the server needs to send them.
/// The rows of the other answers are counted.
pub(crate) const COMPARED_EVERY: u64 = 64;

/// The case, its data, and the time of one slice.
#[derive(Clone, Copy)]
pub(crate) struct Slice {
    pub(crate) case: Case,
    pub(crate) data: Dataset,
    pub(crate) facts: Facts,
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct SliceFigures {
    pub queries: u64,
    pub per_second: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub pages_per_query: f64,
    pub received_bytes_per_second: f64,
}

struct SliceCounts {
    latency_ns: Histogram<u64>,
    pages: u64,
    received_bytes: u64,
    /// The start of the first measured query.
    begin: Option<Instant>,
    end: Instant,
}

impl Slice {
    pub(crate) async fn measure(self, pool: &ClientPool) -> Result<SliceFigures> {
        let began = Arc::new(std::sync::OnceLock::new());
        let shared = Arc::clone(&began);
        // All connections are open before the first query.
        let clients = pool
            .work(move |client| {
                // The first connection that starts its work starts the clock of all connections.
                let from = *shared.get_or_init(Instant::now) + self.warmup;
                self.run(client, from)
            })
            .await?;
        let from = began.get().copied().unwrap_or_else(Instant::now) + self.warmup;
        Ok(figures(from, &clients))
    }

    async fn run(self, client: PoolClient, from: Instant) -> Result<SliceCounts> {
        let mut random = Random::new(self.seed, u64::from(client.number));
        let mut query_client = QueryClient::new(client, self.data);
        let mut counts = SliceCounts {
            latency_ns: Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are valid"),
            pages: 0,
            received_bytes: 0,
            begin: None,
            end: from,
        };
        for number in 0_u64.. {
            let bound = self.case.bind(&self.data, self.facts, &mut random);
            // Aggregates and the scan have short answers, which are always compared.
            let check_level = match self.case {
                Case::EqualityInPartition | Case::EqualityAcross | Case::Top | Case::TopAfter
                    if !number.is_multiple_of(COMPARED_EVERY) =>
                {
                    CheckLevel::Count
                }
                _ => CheckLevel::Rows,
            };
            let start = Instant::now();
            // A query slower than the whole slice still runs once.
            if start >= from + self.duration && !counts.latency_ns.is_empty() {
                break;
            }
            let answer = query_client.run(self.case, &bound, check_level).await?;
            // The query began within the warm-up.
            if start < from {
                continue;
            }
            let nanoseconds = u64::try_from(answer.latency.as_nanos()).unwrap_or(u64::MAX);
            counts.latency_ns.saturating_record(nanoseconds);
            counts.pages += answer.pages;
            counts.received_bytes += answer.received_bytes;
            counts.begin.get_or_insert(start);
            counts.end = Instant::now();
        }
        Ok(counts)
    }
}

/// Adds up the counts of all connections.
fn figures(from: Instant, clients: &[SliceCounts]) -> SliceFigures {
    let mut latency = clients[0].latency_ns.clone();
    for client in &clients[1..] {
        latency
            .add(&client.latency_ns)
            .expect("all histograms have the same bounds");
    }
    let end = clients.iter().map(|client| client.end).max();
    // A slow query of the warm-up may end long after the warm-up, so the first measured query
    // defines the start.
    let begin = clients.iter().filter_map(|client| client.begin).min();
    let from = begin.unwrap_or(from);
    let seconds = end.map_or(0.0, |end| end.duration_since(from).as_secs_f64());
    let sum = |part: fn(&SliceCounts) -> u64| clients.iter().map(part).sum::<u64>() as f64;
    let queries = latency.len();
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let quantile_ms = |quantile| latency.value_at_quantile(quantile) as f64 / 1e6;
    SliceFigures {
        queries,
        per_second: per_second(queries as f64),
        mean_ms: latency.mean() / 1e6,
        p50_ms: quantile_ms(0.5),
        p99_ms: quantile_ms(0.99),
        pages_per_query: sum(|client| client.pages) / (queries.max(1)) as f64,
        received_bytes_per_second: per_second(sum(|client| client.received_bytes)),
    }
}
