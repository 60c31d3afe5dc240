//! What runs cost. Ignored by default: `cargo test --release -- --ignored --nocapture`.

mod common;

use std::sync::Arc;
use std::time::Instant;

use common::{MemoryHost, json, run, runtime};
use orrery_json::Value;
use orrery_memory::MemoryShare;
use orrery_script::{FunctionSession, Job, ScriptOptions};

#[test]
#[ignore = "a measurement"]
fn procedures() {
    let runtime = runtime(ScriptOptions {
        threads: 1,
        ..ScriptOptions::default()
    });
    let read_replace = "function (id) {
        var c = getContext().getCollection();
        c.readDocument(c.getAltLink() + '/docs/' + id, function (err, doc) {
            doc.n += 1;
            c.replaceDocument(doc._self, doc, function (err, doc) {
                getContext().getResponse().setBody(doc.n);
            });
        });
    }";
    for (name, source) in [("empty", "function () {}"), ("read, replace", read_replace)] {
        let source: Arc<str> = source.into();
        let mut host = MemoryHost::with(&json(r#"[{"id":"1","n":0}]"#));
        let job = || Job::procedure(Arc::clone(&source), vec![Value::from("1")]);
        let rounds: u32 = 2000;
        let started = Instant::now();
        for _ in 0..rounds {
            let result;
            (host, result) = run(&runtime, job(), host);
            result.unwrap();
        }
        println!(
            "{name}: {:?} a run back to back",
            started.elapsed() / rounds
        );
        let mut latencies: Vec<_> = (0..200)
            .map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(2));
                let started = Instant::now();
                let host = host.clone();
                run(&runtime, job(), host).1.unwrap();
                started.elapsed()
            })
            .collect();
        latencies.sort();
        println!("{name}: {:?} median of spaced runs", latencies[100]);
    }
}

#[test]
#[ignore = "a measurement"]
fn functions() {
    let runtime = runtime(ScriptOptions::default());
    let sources = [
        "function (a, b) { return a + b; }".into(),
        "function (d) { return d.n * 2; }".into(),
    ];
    let started = Instant::now();
    for _ in 0..100 {
        FunctionSession::open(&runtime, &sources, &MemoryShare::unlimited()).unwrap();
    }
    println!("open: {:?}", started.elapsed() / 100);
    let mut session = FunctionSession::open(&runtime, &sources, &MemoryShare::unlimited()).unwrap();
    let object = json(r#"{"id":"1","n":21,"tags":["a","b"],"name":"some name"}"#);
    for (name, function, arguments) in [
        ("numbers", 0, vec![Value::from(1.5), Value::from(2)]),
        ("strings", 0, vec![Value::from("abc"), Value::from("def")]),
        ("object", 1, vec![object]),
    ] {
        let rounds: u32 = 100_000;
        let started = Instant::now();
        for _ in 0..rounds {
            session.call(function, &arguments).unwrap();
        }
        println!("{name}: {:?} a call", started.elapsed() / rounds);
    }
}
