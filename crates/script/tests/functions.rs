//! User-defined functions.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{json, runtime};
use orrery_json::Value;
use orrery_memory::MemoryShare;
use orrery_script::{FunctionSession, ScriptError, ScriptOptions};

fn options() -> ScriptOptions {
    ScriptOptions {
        wall_time: Duration::from_secs(1),
        heap_bytes: 16 << 20,
        ..ScriptOptions::default()
    }
}

fn call(source: &str, arguments: &[Value]) -> Result<Value, ScriptError> {
    let runtime = runtime(options());
    FunctionSession::open(&runtime, &[source.into()], &MemoryShare::unlimited())?.call(0, arguments)
}

#[test]
fn values_cross_unchanged() {
    let identity = "function (x) { return x; }";
    for text in [
        "null",
        "true",
        "1",
        "-0.5",
        "1e300",
        "9007199254740992",
        "\"\"",
        "\"a\\u0000\\\"\\n\u{e9}\u{1f600}\"",
        "[]",
        "[1,[null,{\"a\":{}}]]",
        "{\"b\":1,\"a\":[true],\"__proto__\":{\"x\":1},\"toJSON\":1}",
    ] {
        let value = json(text);
        let found = call(identity, std::slice::from_ref(&value)).unwrap();
        assert_eq!(found.to_string(), value.to_string());
    }
    assert!(call(identity, &[Value::Undefined]).unwrap().is_undefined());
    assert!(call(identity, &[]).unwrap().is_undefined());
}

#[test]
fn results_are_what_json_keeps() {
    for (source, expected) in [
        ("() => undefined", None),
        ("() => function () {}", None),
        ("() => Symbol()", None),
        ("() => NaN", Some("null")),
        ("() => [undefined, 1, NaN]", Some("[null,1,null]")),
        (
            "() => ({ a: undefined, b: () => 1, c: 2 })",
            Some("{\"c\":2}"),
        ),
        ("() => new Date(0)", Some("\"1970-01-01T00:00:00.000Z\"")),
        ("() => '\\ud83d'", Some("\"\u{FFFD}\"")),
        (
            "() => ['\\ud83d', '\\ud83d\\ude00']",
            Some("[\"\u{FFFD}\",\"\u{1f600}\"]"),
        ),
        ("(a) => a === undefined", Some("true")),
        (
            "() => [typeof getContext, typeof __, typeof console.log, typeof eval]",
            Some("[\"undefined\",\"undefined\",\"function\",\"undefined\"]"),
        ),
        (
            "function f(n) { return n ? f(n - 1) : 'end'; }",
            Some("\"end\""),
        ),
    ] {
        let found = call(source, &[]).unwrap();
        assert_eq!(
            (!found.is_undefined())
                .then(|| found.to_string())
                .as_deref(),
            expected,
            "{source}"
        );
    }
}

#[test]
fn failures() {
    for (source, status) in [
        ("function () { throw new Error(404, 'x'); }", 400),
        ("function () { throw null; }", 400),
        ("function () { throw undefined; }", 400),
        ("function () { throw new Error('\\ud83d half'); }", 400),
        ("function () { for (;;) {} }", 408),
        ("function f() { return f(); }", 400),
        ("function () { return 1n; }", 400),
        ("function () { var a = []; a.push(a); return a; }", 400),
        (
            "function () { for (var a = [], i = 0; i < 300; i++) a = [a]; return a; }",
            400,
        ),
        ("function () { return 'x'.repeat(1e9); }", 400),
        ("function () {", 400),
        ("5", 400),
    ] {
        let error = call(source, &[]).unwrap_err();
        assert_eq!(error.status(), status, "{source}: {error}");
    }
}

#[test]
fn a_session_serves_many_calls_of_several_functions() {
    let runtime = runtime(options());
    let sources: [Arc<str>; 2] = [
        "function (a) { return a + 1; }".into(),
        "function (a) { if (a < 0) throw new Error('negative'); return [a]; }".into(),
    ];
    let mut session = FunctionSession::open(&runtime, &sources, &MemoryShare::unlimited()).unwrap();
    for number in 0..1000_i64 {
        let sum = session.call(0, &[number.into()]).unwrap();
        assert_eq!(sum, Value::from(number + 1));
        assert_eq!(
            session.call(1, std::slice::from_ref(&sum)).unwrap(),
            Value::Array(vec![sum])
        );
    }
    assert!(session.call(1, &[Value::from(-1)]).is_err());
    assert!(session.call(1, &[Value::from(1)]).is_ok());
}

#[test]
fn time_is_for_the_session_until_renewed() {
    let runtime = runtime(options());
    let sources = ["function (n) { for (var i = 0; i < n; i++); }".into()];
    let mut session = FunctionSession::open(&runtime, &sources, &MemoryShare::unlimited()).unwrap();
    let error = session.call(0, &[Value::from(1e12)]).unwrap_err();
    assert_eq!(error, ScriptError::TimedOut);
    assert!(session.is_exhausted());
    session.restart_budget();
    assert!(session.call(0, &[Value::from(10)]).is_ok());
}

#[test]
fn a_session_may_move_to_another_thread() {
    let runtime = runtime(options());
    let sources = ["function f(n) { return n ? f(n - 1) : seen = 1; }".into()];
    let mut session = FunctionSession::open(&runtime, &sources, &MemoryShare::unlimited()).unwrap();
    session.call(0, &[Value::from(50)]).unwrap();
    let moved = std::thread::spawn(move || {
        let result = session.call(0, &[Value::from(50)]);
        let overflow = session.call(0, &[Value::from(1e9)]);
        (result, overflow)
    });
    let (result, overflow) = moved.join().unwrap();
    assert_eq!(result.unwrap(), Value::from(1));
    assert_eq!(overflow, Err(ScriptError::StackOverflow));
}

#[test]
fn logs_are_kept_when_enabled() {
    let runtime = runtime(options());
    let sources = ["function (n) { console.log('n is %s;', n); }".into()];
    let mut session = FunctionSession::open(&runtime, &sources, &MemoryShare::unlimited()).unwrap();
    session.call(0, &[Value::from(1)]).unwrap();
    assert_eq!(session.take_log(), "");
    session.enable_logging();
    session.call(0, &[Value::from(2)]).unwrap();
    session.call(0, &[Value::from(3)]).unwrap();
    assert_eq!(session.take_log(), "n is 2;n is 3;");
}
