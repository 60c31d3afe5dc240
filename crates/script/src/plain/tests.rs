//! Values are read, built and refused.

use orrery_json::{Value, parse};
use rquickjs::{Context, Ctx, Error, Value as JsValue};

use super::build;
use crate::ScriptOptions;
use crate::bridge::Bridge;
use crate::budget::{Budget, Clock};
use crate::copy_counter::{CopyCounter, Refusal};
use crate::heap::Heap;

fn bridge(options: &ScriptOptions) -> Bridge {
    let heap = Heap::new(usize::MAX, Clock::Steps);
    Bridge::new(Budget::new(Clock::Steps, options), heap, options)
}

fn read<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> Option<Value> {
    let bridge = bridge(&ScriptOptions::default());
    super::read(ctx, value, &mut CopyCounter::new(&bridge)).unwrap()
}

fn with_ctx(test: impl FnOnce(&Ctx<'_>)) {
    let engine = Heap::new(usize::MAX, Clock::Steps).engine().unwrap();
    Context::full(&engine).unwrap().with(|ctx| test(&ctx));
}

fn stringified<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> String {
    let text = ctx.json_stringify(value.clone()).unwrap();
    text.map_or_else(|| "undefined".to_owned(), |text| text.to_string().unwrap())
}

#[test]
fn plain_values_are_read_as_their_text_says() {
    with_ctx(|ctx| {
        for source in [
            "({})",
            "[]",
            "({a: 1, b: -0, c: 1.5, d: 1e-7, e: 2 ** 40, f: NaN, g: -Infinity})",
            "({u: undefined, s: Symbol('s'), n: null, t: true, x: 'é\\u{1F600}\\n\\0'})",
            "({b: 1, 2: 2, a: 3, 1: 4, '-1': 5, 'é': 6, '\\u{1F600}': 7, '': 8})",
            "[1, undefined, 'x', [[]], {a: [{b: []}]}]",
            "({['__proto__']: 1, constructor: 2})",
            "(() => { const o = {a: 1, b: 2}; delete o.a; o.a = 3; return o; })()",
            "(() => { const o = {a: 1}; Object.defineProperty(o, 'h', {value: 1}); return o; })()",
            "(() => { const a = [1]; a.extra = 2; return a; })()",
            "(() => { const o = {}; for (let i = 0; i < 99; i++) o['k' + i] = i; return o; })()",
            "('ab' + 'x'.repeat(9000) + 'y')",
            "Object.freeze([Object.freeze({a: 'x'.repeat(3).slice(1)})])",
        ] {
            let value: JsValue<'_> = ctx.eval(source).unwrap();
            let text = parse(stringified(ctx, &value).as_bytes()).unwrap();
            let found = read(ctx, &value).unwrap_or_else(|| panic!("{source} is plain"));
            assert_eq!(found.to_string(), text.to_string(), "{source}");
        }
    });
}

#[test]
fn what_is_not_plain_is_left_to_text_and_untouched() {
    with_ctx(|ctx| {
        for source in [
            "({get a() { ran++; return 1; }})",
            "[{toJSON() { ran++; return 1; }}]",
            "({a: {toJSON: 1}})",
            "new Proxy({}, {ownKeys() { ran++; return []; }, getPrototypeOf() { ran++; return null; }})",
            "({a: new Proxy([], {get() { ran++; }})})",
            "new Date(0)",
            "({a: new Map()})",
            "[new Number(1)]",
            "({f() {}})",
            "({a: 1n})",
            "[1, , 2]",
            "new Array(3)",
            "({a: '\\ud800'})",
            "({'\\udc00': 1})",
            "({a: 2 ** 53})",
            "Object.create({toJSON() { ran++; }})",
            "Object.create(null)",
            "new (class { a = 1 })()",
            "new (class extends Array {})()",
            "(() => { const a = []; a.push(a); return a; })()",
            "(() => { let o = {}; for (let i = 0; i < 100; i++) o = {o}; return o; })()",
            "(function () { return arguments; })(1)",
        ] {
            let value: JsValue<'_> = ctx.eval(format!("var ran = 0; {source}")).unwrap();
            assert!(read(ctx, &value).is_none(), "{source}");
            assert_eq!(ctx.eval::<i32, _>("ran").unwrap(), 0, "{source}");
            assert!(!ctx.has_exception(), "{source}");
        }
    });
}

#[test]
fn what_all_objects_inherit_counts() {
    for source in [
        "Object.prototype.toJSON = () => 1",
        "Array.prototype.toJSON = () => 1",
        "Object.defineProperty(Object.prototype, 'toJSON', { get() { throw 1; } })",
        "Object.setPrototypeOf(Array.prototype, { toJSON() { return 1; } })",
    ] {
        with_ctx(|ctx| {
            let value: JsValue<'_> = ctx.eval("({a: []})").unwrap();
            assert!(read(ctx, &value).is_some());
            ctx.eval::<(), _>(format!("{source}; undefined")).unwrap();
            assert!(read(ctx, &value).is_none(), "{source}");
        });
    }
}

#[test]
fn what_is_built_is_what_parsing_makes() {
    with_ctx(|ctx| {
        // Neither setters of `Object.prototype` nor inherited properties change the built value.
        ctx.eval::<(), _>(
            "for (const name of ['a', '0']) Object.defineProperty(Object.prototype, name, {
                set() { throw new Error(name); }, get() { return 'inherited'; } }); undefined",
        )
        .unwrap();
        for text in [
            "{}",
            "[]",
            r#"{"a":1,"b":[true,null,"x",{"a":-1.5e-7}],"0":2,"c":9007199254740993}"#,
            r#"{"__proto__":{"a":1},"Ã©":1,"é":2,"😀":3,"":4,"\n":5}"#,
            r#"[[[[]]],"é😀",12345678901234567890,-2147483649,2147483647]"#,
        ] {
            let parsed: JsValue<'_> = ctx.json_parse(text).unwrap();
            let built = build(ctx, &parse(text.as_bytes()).unwrap()).unwrap();
            assert_eq!(
                stringified(ctx, &built),
                stringified(ctx, &parsed),
                "{text}"
            );
        }
    });
}

#[test]
fn memory_that_runs_out_is_an_exception() {
    let value = parse(format!("[{}1]", r#"{"a":["x"]},"#.repeat(999)).as_bytes()).unwrap();
    let engine = Heap::new(usize::MAX, Clock::Steps).engine().unwrap();
    let context = Context::full(&engine).unwrap();
    let used = || usize::try_from(engine.memory_usage().malloc_size).unwrap();
    let at_start = used();
    for free in (0..60_000).step_by(500) {
        engine.set_memory_limit(at_start + free);
        context.with(|ctx| {
            assert!(matches!(build(&ctx, &value), Err(Error::Exception)));
            ctx.catch();
        });
    }
    engine.set_memory_limit(0);
    context.with(|ctx| {
        ctx.globals()
            .set("built", build(&ctx, &value).unwrap())
            .unwrap();
    });
    let (with_built, mut read_well) = (used(), 0);
    for free in (0..30_000).step_by(100) {
        engine.set_memory_limit(with_built + free);
        context.with(|ctx| {
            let built: JsValue<'_> = ctx.globals().get("built").unwrap();
            read_well += i32::from(read(&ctx, &built).is_some());
            assert!(!ctx.has_exception());
        });
    }
    assert!(read_well > 0);
}

#[test]
fn each_copy_counts() {
    let options = ScriptOptions {
        value_bytes: 4 << 20,
        steps_max: 20_000,
        ..ScriptOptions::default()
    };
    with_ctx(|ctx| {
        for (source, expected) in [
            (
                "let x = 1; for (let i = 0; i < 10; i++) x = [x, x]; x",
                Ok(true),
            ),
            (
                "let x = 1; for (let i = 0; i < 60; i++) x = [x, x]; x",
                Err(Refusal::RunEnded),
            ),
            (
                "let x = 1; for (let i = 0; i < 60; i++) x = {x, y: x}; x",
                Err(Refusal::RunEnded),
            ),
            (
                "let x = []; for (let i = 0; i < 60; i++) x = [x]; x",
                Ok(true),
            ),
            (
                "let x = []; for (let i = 0; i < 70; i++) x = [x]; x",
                Ok(false),
            ),
            ("[1, 2, 3].fill('x'.repeat(2e6))", Err(Refusal::TooLarge)),
            (
                "({['x'.repeat(2e6)]: 1, b: {['x'.repeat(3e6)]: 1}})",
                Err(Refusal::TooLarge),
            ),
            ("'x'.repeat(5e6)", Err(Refusal::TooLarge)),
            ("new Array(3e4).fill(1)", Err(Refusal::RunEnded)),
        ] {
            let bridge = bridge(&options);
            let value: JsValue<'_> = ctx.eval(format!("{{ {source} }}")).unwrap();
            let mut copy_counter = CopyCounter::new(&bridge);
            let found = super::read(ctx, &value, &mut copy_counter).map(|value| value.is_some());
            assert_eq!(found, expected, "{source}");
        }
    });
}

#[test]
fn a_measure_is_at_most_the_length_of_the_text() {
    with_ctx(|ctx| {
        for source in [
            "[1, 'ab', null, {a: [], b: undefined}]",
            "'x'",
            "({})",
            "[undefined, Symbol()]",
            "1n",
            "[,]",
        ] {
            let bridge = bridge(&ScriptOptions::default());
            let value: JsValue<'_> = ctx.eval(format!("({source})")).unwrap();
            let length = ctx
                .json_stringify(value.clone())
                .map_or(usize::MAX, |text| {
                    text.map_or(0, |text| text.to_string().unwrap().len())
                });
            ctx.catch();
            let fits = super::measure(ctx, &value, length, &mut CopyCounter::new(&bridge));
            assert!(fits.is_ok(), "{source}");
            if length > 0 && length < 100 && source != "[,]" {
                let fits = super::measure(ctx, &value, 0, &mut CopyCounter::new(&bridge));
                assert_eq!(fits, Err(Refusal::TooLarge), "{source}");
            }
        }
    });
}
