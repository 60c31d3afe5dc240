//! The load driver with this version of the server.

use clap::Parser;
use orrery_bench::{Options, ServerProgram};
use serde_json::Value;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

/// Runs the load driver in this process, and returns the report as its program prints it.
fn bench(arguments: &[&str]) -> anyhow::Result<Value> {
    bench_with(&[], arguments)
}

fn bench_with(settings: &[(&str, &str)], arguments: &[&str]) -> anyhow::Result<Value> {
    let data = tempfile::tempdir()?;
    let arguments = ["bench", "--warmup=0", "--rounds=1", "--connections=4"]
        .into_iter()
        .chain(arguments.iter().copied());
    let mut options = Arguments::try_parse_from(arguments)?.options;
    options.data_dir = Some(data.path().to_owned());
    let mut program = ServerProgram::new(env!("CARGO_BIN_EXE_orrery").into(), &options);
    for (name, value) in settings {
        program = program.with_variable(name, value);
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let report = runtime.block_on(orrery_bench::run(options, Some(&program)))?;
    Ok(serde_json::to_value(report)?)
}

/// Small enough for a test, and every answer is checked as in a long run.
#[test]
fn the_query_suite_checks_every_answer() {
    let report = bench(&[
        "--workload=query-suite",
        "--items=2000",
        "--without-postgres",
        "--slice-ms=50",
    ])
    .unwrap();
    let queries = &report["queries"];
    assert_eq!(queries["cases"].as_array().unwrap().len(), 15);
    for case in queries["cases"].as_array().unwrap() {
        assert!(case["per_second"].as_f64().unwrap() > 0.0, "{case}");
    }
    for load in ["indexed", "unindexed"] {
        let ratio = &queries[load]["disk_bytes_per_json_byte"];
        assert!(ratio.as_f64().unwrap() > 0.1, "{load}: {ratio}");
    }
    for compile in queries["compiles"].as_array().unwrap() {
        assert!(
            compile["server_new_us"].as_f64().unwrap() > 0.0,
            "{compile}"
        );
    }
}

#[test]
fn scripts_do_the_same_work() {
    // Scripts that run for ever are stopped after the script time, which must be shorter than a test.
    let settings = [("ORRERY_SCRIPT_TIME", "1000")];
    let arguments = ["--workload=scripts", "--items=1000", "--slice-ms=300"];
    let report = bench_with(&settings, &arguments).unwrap();
    let scripts = &report["scripts"];
    assert_eq!(scripts["targets"].as_array().unwrap().len(), 3);
    for figure in [
        &scripts["read_replace"]["procedure_us"],
        &scripts["import"]["procedure_per_second"],
        &scripts["function"]["called_ms"],
        &scripts["interference"]["beside"]["p99_us"],
        &scripts["interference"]["scripts_stopped"],
    ] {
        assert!(figure.as_f64().unwrap() > 0.0, "{scripts}");
    }
}

#[test]
fn a_flood_is_held_to_its_budget_and_readers_are_not_refused() {
    let report = bench(&[
        "--workload=overload",
        "--items=100",
        "--throughput=10000",
        "--duration=3",
    ])
    .unwrap();
    let [alone, beside, flood] = report["slices"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    for reads in [alone, beside] {
        assert!(reads["per_second"].as_f64().unwrap() > 0.0, "{reads}");
    }
    let upserts = &flood["operations"][0];
    assert!(upserts["throttled"].as_u64().unwrap() > 0, "{upserts}");
    // Three seconds, and the part of another one at either end.
    let charge = upserts["request_charge"].as_f64().unwrap();
    assert!((400.0..=2_400.0).contains(&charge), "{charge}");
    assert!(report.get("first_failure").is_none(), "{report}");
}

#[test]
fn partitions_are_read_and_moved_without_failures() {
    let report = bench(&["--workload=partitions", "--items=200", "--slice-ms=100"]).unwrap();
    let partitions = &report["partitions"];
    assert_eq!(partitions["targets"].as_array().unwrap().len(), 8);
    assert_eq!(partitions["living"]["failures"], 0);
    assert!(partitions["big"]["bytes"].as_u64().unwrap() >= 200 * 1024);
    for figure in [
        &partitions["big"]["feed_one_per_second"],
        &partitions["big"]["feed_two_per_second"],
        &partitions["big"]["split_ms"],
        &partitions["living"]["splits"],
        &partitions["living"]["moving"]["p99_us"],
        &partitions["budgets"]["reads"]["ratio"],
        &partitions["keys"]["queries"]["ratio"],
        &partitions["keys"]["creates"]["ratio"],
        &partitions["throttle"]["charge"],
    ] {
        assert!(figure.as_f64().unwrap() > 0.0, "{partitions}");
    }
}

#[test]
fn regions_are_measured_in_all_parts() {
    let report = bench(&["--workload=regions", "--items=500", "--slice-ms=200"]).unwrap();
    let regions = &report["regions"];
    // Lag twice, catching up, three delays, reads at two numbers of connections.
    assert_eq!(regions["targets"].as_array().unwrap().len(), 2 + 1 + 3 + 2);
    assert!(regions["catch_up"]["records"].as_u64().unwrap() >= 500);
    let strong = regions["strong"].as_array().unwrap();
    for (distance, delay) in strong.iter().zip([0.0, 10.0, 25.0, 50.0]) {
        for figure in [&distance["round_trip_ms"], &distance["one"]["p50_ms"]] {
            assert!(figure.as_f64().unwrap() >= 2.0 * delay, "{distance}");
        }
    }
    for figure in [
        &regions["lag"]["lag"]["p50_ms"],
        &regions["lag"]["writes_per_second"],
        &regions["catch_up"]["meanwhile"]["p99_ms"],
        &regions["local"][7]["rates"]["ratio"],
        &regions["failover"]["planned"]["pause"]["p50_ms"],
        &regions["failover"]["forced"]["pause"]["p50_ms"],
        &regions["failover"]["voted"]["pause"]["p50_ms"],
    ] {
        assert!(figure.as_f64().unwrap() > 0.0, "{regions}");
    }
}

/// Two processes, as `taskset` of Linux lets them run.
#[cfg(target_os = "linux")]
#[test]
fn regions_are_measured_apart() {
    let arguments = [
        "--workload=regions",
        "--part=apart",
        "--items=500",
        "--slice-ms=200",
    ];
    let report = match bench(&arguments) {
        Ok(report) => report,
        Err(error) => {
            let error = format!("{error:#}");
            let reasons = ["util-linux", "two processors are needed"];
            assert!(
                reasons.iter().any(|reason| error.contains(reason)),
                "{error}"
            );
            return;
        }
    };
    let local = report["regions"]["local"].as_array().unwrap();
    assert_eq!(
        local.len(),
        4,
        "reads and creates on four connections and one"
    );
    for figures in local {
        assert!(
            figures["rates"]["ratio"].as_f64().unwrap() > 0.0,
            "{figures}"
        );
    }
}
