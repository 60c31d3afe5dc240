//! The time of parsing and planning, measured in this process.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::case::{BoundQuery, Case};
use crate::median::median;
use crate::server::QueryCompiler;

const WARMUP: usize = 50;
const SAMPLES_MAX: usize = 2000;
const TIME_MAX: Duration = Duration::from_millis(300);

/// The median time in microseconds.
pub(crate) fn compile_us(
    compiler: &QueryCompiler,
    container: &str,
    case: Case,
    bound: &BoundQuery,
) -> Result<f64> {
    let parameters: Vec<_> = bound
        .parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.to_string()))
        .collect();
    let compile = compiler(container, case.text(), &parameters)?;
    // The first runs load code and data into the caches.
    for _ in 0..WARMUP {
        compile()?;
    }
    let began = Instant::now();
    let mut samples = Vec::new();
    // At least one sample, however long it takes.
    while samples.is_empty() || samples.len() < SAMPLES_MAX && began.elapsed() < TIME_MAX {
        let start = Instant::now();
        compile()?;
        samples.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&samples))
}
