//! One case for some seconds on some connections: a closed loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::asker::{Asker, Keep};
use super::case::{Case, Facts};
use super::data::Dataset;
use crate::crew::{Crew, Member};
use crate::random::Random;

const LATENCY_NS_MAX: u64 = 600_000_000_000;
/// Comparing a hundred whole items takes the client longer than the server needs to send them, so
/// of large answers only every so many-th is compared; the others are counted.
pub(crate) const COMPARED_EVERY: u64 = 64;

/// What to ask, of which data, for how long.
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

struct Counts {
    latency_ns: Histogram<u64>,
    pages: u64,
    received_bytes: u64,
    /// When the first query that counts was asked.
    begin: Option<Instant>,
    end: Instant,
}

impl Slice {
    pub(crate) async fn measure(self, crew: &Crew) -> Result<SliceFigures> {
        let began = Arc::new(std::sync::OnceLock::new());
        let shared = Arc::clone(&began);
        let members = crew
            .work(move |member| {
                // The first to work starts the clock of all.
                let from = *shared.get_or_init(Instant::now) + self.warmup;
                self.run(member, from)
            })
            .await?;
        let from = began.get().copied().unwrap_or_else(Instant::now) + self.warmup;
        Ok(figures(from, &members))
    }

    async fn run(self, member: Member, from: Instant) -> Result<Counts> {
        let mut random = Random::new(self.seed, u64::from(member.number));
        let mut asker = Asker::new(member, self.data);
        let mut counts = Counts {
            latency_ns: Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are valid"),
            pages: 0,
            received_bytes: 0,
            begin: None,
            end: from,
        };
        for number in 0_u64.. {
            let asked = self.case.ask(&self.data, self.facts, &mut random);
            let keep = match self.case {
                Case::EqualityInPartition | Case::EqualityAcross | Case::Top | Case::TopAfter
                    if !number.is_multiple_of(COMPARED_EVERY) =>
                {
                    Keep::Count
                }
                _ => Keep::Rows,
            };
            let start = Instant::now();
            // A query may be slower than the slice is long, and is then asked once.
            if start >= from + self.duration && !counts.latency_ns.is_empty() {
                break;
            }
            let answer = asker.ask(self.case, &asked, keep).await?;
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

fn figures(from: Instant, members: &[Counts]) -> SliceFigures {
    let mut latency = members[0].latency_ns.clone();
    for member in &members[1..] {
        latency
            .add(&member.latency_ns)
            .expect("all histograms have the same bounds");
    }
    let end = members.iter().map(|member| member.end).max();
    // A slow query that warms up may end long after the time for that.
    let begin = members.iter().filter_map(|member| member.begin).min();
    let from = begin.unwrap_or(from);
    let seconds = end.map_or(0.0, |end| end.duration_since(from).as_secs_f64());
    let sum = |part: fn(&Counts) -> u64| members.iter().map(part).sum::<u64>() as f64;
    let queries = latency.len();
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let quantile_ms = |quantile| latency.value_at_quantile(quantile) as f64 / 1e6;
    SliceFigures {
        queries,
        per_second: per_second(queries as f64),
        mean_ms: latency.mean() / 1e6,
        p50_ms: quantile_ms(0.5),
        p99_ms: quantile_ms(0.99),
        pages_per_query: sum(|member| member.pages) / (queries.max(1)) as f64,
        received_bytes_per_second: per_second(sum(|member| member.received_bytes)),
    }
}
