//! Runs against servers that the driver starts itself.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use clap::Parser;
use orrery_bench::{Options, Report, ServerProgram, Verdict, run};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn options(arguments: &str) -> Options {
    let fixed = "bench --items 50 --warmup 0 --duration 1 --rounds 1 --progress off";
    let arguments = fixed.split(' ').chain(arguments.split(' '));
    let mut options = Arguments::try_parse_from(arguments).unwrap().options;
    options.bare_program = Some(env!("CARGO_BIN_EXE_orrery-bench").into());
    options
}

/// Examples are built with the tests, in the folder beside theirs.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let profile = tests.parent().unwrap().parent().unwrap();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    profile.join("examples").join(file)
}

fn program(options: &Options) -> ServerProgram {
    ServerProgram::new(example("agreeable"), options)
}

async fn bench(arguments: &str) -> Report {
    let options = options(arguments);
    let program = program(&options);
    run(options, Some(&program)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_report_says_how_large_the_server_is() {
    let report = bench("--workload create").await;
    assert!(report.is_clean(), "{report}");
    let server = report.server.as_ref().unwrap();
    assert_eq!(server.resident_bytes.is_some(), cfg!(unix));
    let text = report.to_string();
    assert!(text.contains("cache 1.0 MB, durability none"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["server"]["cache_bytes"], 1_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn start() {
    let report = bench("--workload start").await;
    let start = report.start.as_ref().unwrap();
    assert_eq!((start.empty.count, start.load.created), (10, 50));
    assert!(start.empty.median_ms > 0.0 && start.empty.median_ms <= start.empty.max_ms);
    let after_stop = start.after_stop.as_ref().map(|times| times.count);
    assert_eq!(after_stop, cfg!(unix).then_some(5));
    assert_eq!(start.after_kill.count, 1);
    assert!(report.to_string().contains("50 items, after kill -9"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suite_is_a_document_with_verdicts() {
    let report = bench("--workload suite --without-postgres --date 2026-11-15").await;
    let suite = report.suite.as_ref().unwrap();
    assert_eq!(suite.targets.len(), 7);
    assert_ne!(suite.targets[0].verdict, Verdict::NotMeasured);
    assert_eq!(suite.parts.creates.len(), 3);
    let document = report.to_string();
    for phrase in [
        "2026-11-15: `own_server",
        "\n### Targets\n\n| Figure | Wanted | Measured |  |\n|---|---:|---:|---:|\n",
        "PostgreSQL was skipped: left out by --without-postgres.",
        "| ycsb-f | read-modify-write |",
        "| 50 items, after kill -9 | 1 |",
    ] {
        assert!(document.contains(phrase), "{phrase} is not in\n{document}");
    }
}

#[tokio::test]
async fn servers_of_its_own_exclude_an_endpoint() {
    for workload in ["start", "suite", "query-suite"] {
        let options = options(&format!(
            "--workload {workload} --endpoint http://127.0.0.1:1"
        ));
        let error = run(options.clone(), Some(&program(&options)))
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("leave --endpoint out"),
            "{error}"
        );
    }
}
