//! Whole runs against a tiny server that keeps items in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod tiny_server;

use clap::Parser;
use orrery_bench::{Options, Report, run};
use tiny_server::TinyServer;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

async fn bench(server: &TinyServer, arguments: &str) -> Report {
    let url = server.url();
    let fixed = [
        "bench",
        "--endpoint",
        &url,
        "--items",
        "500",
        "--warmup",
        "0",
        "--progress",
        "off",
    ];
    let arguments = fixed.into_iter().chain(arguments.split_whitespace());
    let mut options = Arguments::try_parse_from(arguments).unwrap().options;
    options.bare_program = Some(env!("CARGO_BIN_EXE_orrery-bench").into());
    run(options, None).await.unwrap()
}

fn operations(report: &Report) -> Vec<&'static str> {
    report
        .slices
        .iter()
        .flat_map(|slice| &slice.operations)
        .map(|row| row.operation)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn read() {
    let server = TinyServer::start().await;
    let report = bench(&server, "--workload read --duration 1 --connections 4").await;

    let load = report.load.as_ref().unwrap();
    assert_eq!((load.created, load.existing), (500, 0));
    assert!(report.is_clean(), "{report}");
    let row = &report.slices[0].operations[0];
    assert_eq!((row.operation, row.throttled), ("read", 0));
    assert!(row.count > 0, "{report}");
    assert!(
        (row.request_charge - row.count as f64).abs() < 0.5,
        "{report}"
    );
    assert!(
        row.p50_us <= row.p99_us && row.p99_us <= row.max_us,
        "{report}"
    );
    assert_eq!(server.item_count(), 0, "the database is deleted at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mix_is_answered_without_errors() {
    let cases = [
        ("create", vec!["create"]),
        ("upsert", vec!["upsert"]),
        ("ycsb-a", vec!["read", "replace"]),
        ("ycsb-d", vec!["read", "create"]),
        ("ycsb-e", vec!["create", "scan"]),
        ("ycsb-f", vec!["read", "read-modify-write"]),
        ("group-commit", vec!["create", "create"]),
    ];
    let server = TinyServer::start().await;
    for (workload, expected) in cases {
        let mut tries = 0;
        loop {
            let report = bench(&server, &format!("--workload {workload} --duration 1")).await;
            assert!(report.is_clean(), "{report}");
            // A rare operation may be missing in a run on a busy machine.
            if operations(&report) == expected {
                break;
            }
            tries += 1;
            assert!(tries < 5, "{report}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_with_the_bare_server() {
    let server = TinyServer::start().await;
    let report = bench(&server, "--workload read-vs-bare --rounds 2 --duration 1").await;

    let names: Vec<_> = report
        .slices
        .iter()
        .map(|slice| slice.name.as_str())
        .collect();
    assert_eq!(names, ["endpoint 1", "bare 1", "endpoint 2", "bare 2"]);
    assert!(report.is_clean(), "{report}");
    // Both sides send answers of the same length.
    let answer_bytes = |slice: usize| {
        let row = &report.slices[slice].operations[0];
        row.received_bytes_per_second / row.per_second
    };
    assert!((answer_bytes(0) - answer_bytes(1)).abs() < 1.0, "{report}");
    assert_eq!(report.ratio.unwrap().rounds.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_data_is_found_again() {
    let server = TinyServer::start().await;
    bench(&server, "--workload read --duration 1 --keep").await;
    assert_eq!(server.item_count(), 500);
    let report = bench(&server, "--workload read --duration 1").await;
    let load = report.load.as_ref().unwrap();
    assert_eq!((load.created, load.existing), (0, 500));
    assert_eq!(
        server.item_count(),
        500,
        "only what the run created is deleted"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_and_throttling_are_counted() {
    let server = TinyServer::start().await;
    server.throttle_every(10);
    let report = bench(&server, "--workload read --duration 1 --skip-load").await;

    let row = &report.slices[0].operations[0];
    assert_eq!(row.count, 0);
    assert!(row.errors[&404] > 0 && row.throttled > 0, "{report}");
    let failure = report.first_failure.unwrap();
    assert_eq!(
        (failure.status, failure.body.as_str()),
        (404, "{\"message\":\"not found\"}")
    );
}
