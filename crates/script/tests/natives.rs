//! Built-in functions that the prelude replaces or guards behave as the language defines, and end.

mod common;

use std::time::Duration;

use common::{procedure, runtime};
use orrery_script::{ScriptError, ScriptOptions};

#[test]
fn replaced_builtins_behave_as_specified() {
    let runtime = runtime(ScriptOptions::default());
    for (expression, expected) in [
        ("[1, [2, [3, [4]]]].flat()", "[1,2,[3,[4]]]"),
        ("[1, [2, [3, [4]]]].flat(Infinity)", "[1,2,3,4]"),
        ("[[1, , 2], 3].flat(-1)", "[[1,null,2],3]"),
        ("[1, 2].flatMap(x => [x, [x]])", "[1,[1],2,[2]]"),
        (
            "[1, 2].flatMap(function (x) { return this.n + x; }, { n: 1 })",
            "[2,3]",
        ),
        ("[...new Set([1, 2, 1])]", "[1,2]"),
        ("[...new Set('aba')]", "[\"a\",\"b\"]"),
        (
            "[new Set() instanceof Set, new Set().size, Set.name, Set.length]",
            "[true,0,\"Set\",0]",
        ),
        (
            "new (class extends Set { constructor(x) { super(x); } })([1, 1]).size",
            "1",
        ),
        ("[10, 9, 1].sort()", "[1,10,9]"),
        (
            "Array.from({ length: 2000 }, (_, i) => i).sort().slice(0, 4)",
            "[0,1,10,100]",
        ),
        (
            "Array.from({ length: 2000 }, (_, i) => i ? 'x' : undefined).sort().indexOf(undefined)",
            "1999",
        ),
        ("[1].concat([2], 3, [[4]])", "[1,2,3,[4]]"),
        (
            "[].concat({ length: 1, 0: 'x' })",
            "[{\"0\":\"x\",\"length\":1}]",
        ),
        (
            "(function () { return Array.prototype.slice.call(arguments, 1); })(1, 2)",
            "[2]",
        ),
        ("Array.prototype.join.call('abc', '-')", "\"a-b-c\""),
        ("Array.prototype.slice.call(5)", "[]"),
        ("Array.prototype.slice.call({ 0: 1, length: 1 })", "[1]"),
        (
            "Array.prototype.slice.call(new Uint8Array([1, 2]))",
            "[1,2]",
        ),
        (
            "[[3, 1].includes(1), ['a'].indexOf('a'), ['a'].lastIndexOf('b')]",
            "[true,0,-1]",
        ),
        (
            "JSON.stringify({ a: [new Date(0), undefined] }, null, 1)",
            "\"{\\n \\\"a\\\": [\\n  \\\"1970-01-01T00:00:00.000Z\\\",\\n  null\\n ]\\n}\"",
        ),
        ("JSON.stringify({ a: 1, b: 2 }, ['b'])", "\"{\\\"b\\\":2}\""),
        (
            "JSON.stringify(new Map()) + JSON.stringify(undefined)",
            "\"{}undefined\"",
        ),
        (
            "JSON.stringify(new Array(5e4).fill({ a: 1 })).length",
            "400001",
        ),
        ("'x'.repeat(2e5).indexOf('y')", "-1"),
        (
            "[new Uint8Array(3).indexOf(0), new Uint8Array([2, 1]).sort()[0]]",
            "[0,1]",
        ),
    ] {
        let source = format!("function () {{ __.response.setBody({expression}); }}");
        let body = procedure(&runtime, &source).map(|outcome| outcome.body);
        assert_eq!(body, Ok(Some(expected.to_owned())), "{expression}");
    }
}

/// Each of these statements once occupied a native function for hours or forever.
#[test]
fn native_functions_stop_in_time() {
    let runtime = runtime(ScriptOptions {
        threads: 1,
        wall_time: Duration::from_millis(300),
        ..ScriptOptions::default()
    });
    for statement in [
        "new Set(Array.prototype.values.call({ length: 2 ** 53 - 1 }))",
        "new Set([1]).union({ size: 1, has() {}, keys: () => Array.prototype.values.call({ length: 2 ** 53 - 1 }) })",
        "new Array(1e4).fill(new Array(2 ** 32 - 1)).flat()",
        "[1, 2, 3].flatMap(() => new Array(2 ** 32 - 1))",
        "var n = 0; Array.prototype.reverse.call({ get length() { return n++ ? 2 ** 53 - 1 : 0; } })",
        "Array.prototype.reverse.call(Object.create({ length: 2 ** 53 - 1 }))",
        "Number.prototype.length = 2 ** 53 - 1; Array.prototype.reverse.call(5)",
        "Array.prototype.reverse.call(Object.defineProperty(() => 1, 'length', { value: 2 ** 53 - 1 }))",
        "Array.prototype.reverse.call(new Proxy({ length: 2 ** 53 - 1 }, {}))",
        "[].concat(...new Array(1000).fill(new Array(1e7)))",
        "[].concat(new Proxy(new Array(2 ** 32 - 1), {}))",
        "var o = { get [Symbol.isConcatSpreadable]() { o.length = 2 ** 53 - 1; return true; } }; [].concat(o)",
        "var s = 'a'.repeat(1e7), a = new Array(1e6).fill(s + 'b'); a.indexOf(s + 'c')",
        "var s = 'a'.repeat(1e7), a = [s + 'b', s + 'c'], b = []; for (var i = 0; i < 5e5; i++) b.push(a[i % 2]); b.sort()",
        "var p = {}; for (var i = 0; i < 1e5; i++) p = Object.create(p); JSON.stringify(new Array(1e6).fill(p))",
        "var o = {}; for (var i = 0; i < 30; i++) o['k' + i] = undefined; o = new Array(1e5).fill(o); JSON.stringify(new Array(1e3).fill(o))",
        "var b = (1n << 500000n) - 1n; for (;;) b * b",
    ] {
        for source in [
            format!("function () {{ {statement}; }}"),
            format!("function () {{ for (;;) try {{ {statement}; }} catch (e) {{}} }}"),
        ] {
            match procedure(&runtime, &source) {
                Ok(_) | Err(ScriptError::Threw(_)) => {}
                Err(error) => assert!(error.is_limit(), "{source}: {error:?}"),
            }
            let begun = std::time::Instant::now();
            while runtime.abandoned_threads().now > 0 {
                assert!(begun.elapsed() < Duration::from_mins(1), "{source}");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(procedure(&runtime, "() => 1").is_ok(), "{source}");
        }
    }
}
