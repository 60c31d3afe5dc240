//! Measures a commit of 16 records of 1.2 KB: `cargo run --release -p orrery-log --example commit
//! [directory]`, through new segments, through recycled segments, and without a sync.

#![expect(
    clippy::print_stdout,
    reason = "an example that prints its measurements"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use orrery_log::{Durability, Error, Log, LogOptions, Position};

const RECORDS: usize = 16;
const RECORD_BYTES: usize = 1200;
const COMMITS: usize = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let base = std::env::args_os()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = base.join("orrery-log-bench");
    let started = Instant::now();
    let (mut log, _) = Log::open(&dir, options(Durability::Sync))?;
    println!("open of an empty log: {:?}", started.elapsed());
    report("new segments, synced", &mut run(&mut log, Trim::Never)?);
    // Warm up until the log has filled every file once.
    run(&mut log, Trim::AtOnce)?;
    report(
        "recycled segments, synced",
        &mut run(&mut log, Trim::AtOnce)?,
    );
    log.close()?;
    let (mut log, _) = Log::open(&dir, options(Durability::None))?;
    report(
        "recycled segments, not synced",
        &mut run(&mut log, Trim::AtOnce)?,
    );
    run(&mut log, Trim::Never)?;
    log.close()?;
    let started = Instant::now();
    let (log, recovery) = Log::open(&dir, options(Durability::Sync))?;
    let retained = recovery.last.0 + 1 - recovery.first.0;
    println!(
        "open of {retained} retained records: {:?}",
        started.elapsed()
    );
    drop(log);
    std::fs::remove_dir_all(dir)?;
    Ok(())
}

fn options(durability: Durability) -> LogOptions {
    LogOptions {
        segment_bytes: 16 << 20,
        durability,
        known_durable: Position::ZERO,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Trim {
    Never,
    /// Trims after each sealed segment, outside the measured time.
    AtOnce,
}

fn run(log: &mut Log, trim: Trim) -> Result<Vec<Duration>, Error> {
    let payload = vec![7; RECORD_BYTES];
    let mut times = Vec::with_capacity(COMMITS);
    for _ in 0..COMMITS {
        let started = Instant::now();
        for _ in 0..RECORDS {
            log.append(&payload);
        }
        log.commit()?;
        times.push(started.elapsed());
        if let (Trim::AtOnce, Some(sealed)) = (trim, log.sealed()) {
            log.trim(sealed)?;
        }
    }
    Ok(times)
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let total: Duration = times.iter().sum();
    let (median, late) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    let records_per_second = (times.len() * RECORDS) as f64 / total.as_secs_f64();
    println!("{what}: median {median:?}, p99 {late:?}, {records_per_second:.0} records/s");
}
