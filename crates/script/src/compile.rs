//! Compiles registered bodies to bytecode.
//!
//! A body is one function, as an expression or a declaration. Declarations of helper functions may
//! follow a declaration, and also a parenthesised expression with its semicolon. The compiler runs
//! in its own engine, because the engines that run scripts have no compiler: `eval` and `new
//! Function` do not work there. The compiler also has its own stack, so that the caller's stack
//! does not matter.

use std::ffi::{CStr, CString};

use orrery_memory::MemoryShare;
use rquickjs::context::intrinsic;
use rquickjs::{Context, Ctx};

use crate::budget::Clock;
use crate::bytecode::{self, Bytecode, SourceRetention};
use crate::exception;
use crate::fiber::Fiber;
use crate::heap::Heap;
use crate::{ScriptError, ScriptOptions};

/// The file name of scripts in stack traces.
pub(crate) const SCRIPT_FILE: &str = "script.js";
const SCRIPT_FILE_C: &CStr = c"script.js";
const PRELUDE_FILE_C: &CStr = c"prelude.js";
/// Estimated compiler memory per byte of source; a body of nothing but functions needs most.
const MEMORY_PER_SOURCE_BYTE: usize = 64;
/// Memory limit of the compiler, relative to the heap limit of scripts.
const MEMORY_PER_HEAP_BYTE: usize = 4;
/// Stack beyond the limit of the compiler.
const RESERVE_STACK_BYTES: usize = 1 << 20;

/// The JavaScript part of the API, in parts that are loaded separately.
pub(crate) struct Prelude {
    /// For every script: `(native) => core`.
    pub(crate) core: Bytecode,
    /// For procedures and triggers: `(native, core) => driver`.
    pub(crate) context: Bytecode,
    /// For scripts that query by functions: `(native, core, collection) => methods`.
    pub(crate) queries: Bytecode,
}

const CORE: &str = concat!(
    "(function (native) {
'use strict';
",
    include_str!("prelude/find.js"),
    include_str!("prelude/core.js"),
    "})"
);

const CONTEXT: &str = concat!(
    "(function (native, core) {
'use strict';
",
    include_str!("prelude/message.js"),
    include_str!("prelude/collection.js"),
    include_str!("prelude/context.js"),
    "})"
);

const QUERIES: &str = concat!(
    "(function (native, core, collection) {
'use strict';
",
    include_str!("prelude/query.js"),
    "})"
);

/// Compiles the prelude, once per runtime.
pub(crate) fn prelude(options: &ScriptOptions, clock: &Clock) -> Result<Prelude, ScriptError> {
    let [core, context, queries] = [CORE, CONTEXT, QUERIES].map(c_text);
    let (core, context, queries) = (core?, context?, queries?);
    with_compiler(options, clock, &MemoryShare::unlimited(), |ctx| {
        let compile = |text: &CString| {
            bytecode::compile(ctx, text, PRELUDE_FILE_C, SourceRetention::Stripped)
                .map_err(|error| syntax_error(ctx, &error))
        };
        Ok(Prelude {
            core: compile(&core)?,
            context: compile(&context)?,
            queries: compile(&queries)?,
        })
    })
}

/// Compiles a body to bytecode that returns its function when it is evaluated.
///
/// The engine cannot be interrupted while it compiles. So the length of the body is limited here;
/// the heap limit stops bodies that need more memory than their length suggests.
pub(crate) fn function(
    options: &ScriptOptions,
    clock: &Clock,
    share: &MemoryShare,
    body: &str,
) -> Result<Bytecode, ScriptError> {
    let bytes_max = options.heap_bytes / MEMORY_PER_SOURCE_BYTE;
    if body.len() > bytes_max {
        return Err(ScriptError::Compile {
            message: format!(
                "the script has {} bytes, and may have {bytes_max} at most",
                body.len()
            ),
            line: None,
        });
    }
    let body = body.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let expression = c_text(&format!("({body}\n)"))?;
    let program = match first_declared(body) {
        Some(name) => Some(c_text(&format!("{body}\n;{name}"))?),
        // A parenthesised function is the value of the program, unless a later statement has a
        // value.
        None if skip_blank(body).starts_with('(') => Some(c_text(body)?),
        None => None,
    };
    with_compiler(options, clock, share, |ctx| {
        let compile = |text: &CString| {
            bytecode::compile(ctx, text, SCRIPT_FILE_C, SourceRetention::Kept)
                .map_err(|error| syntax_error(ctx, &error))
        };
        // The expression form is tried first; a declaration followed by helpers compiles only as a
        // program.
        compile(&expression).or_else(|error| match &program {
            Some(program) => compile(program),
            None => Err(error),
        })
    })
}

fn c_text(text: &str) -> Result<CString, ScriptError> {
    CString::new(text).map_err(|error| ScriptError::Compile {
        message: error.to_string(),
        line: None,
    })
}

/// Runs `work` in a compiler engine of its own.
fn with_compiler<T>(
    options: &ScriptOptions,
    clock: &Clock,
    share: &MemoryShare,
    work: impl FnOnce(&Ctx<'_>) -> Result<T, ScriptError>,
) -> Result<T, ScriptError> {
    let bytes_max = options.heap_bytes.saturating_mul(MEMORY_PER_HEAP_BYTE);
    let heap = Heap::new(bytes_max, clock.clone());
    heap.account().open(share).map_err(ScriptError::Memory)?;
    heap.set_deadline(options.wall_time + options.abandon_time);
    let compile = || {
        let engine = heap.engine().map_err(engine_error)?;
        engine.set_max_stack_size(options.stack_bytes);
        let context = Context::custom::<(
            intrinsic::Eval,
            intrinsic::RegExpCompiler,
            intrinsic::RegExp,
        )>(&engine)
        .map_err(engine_error)?;
        context.with(|ctx| work(&ctx))
    };
    #[expect(unsafe_code, reason = "the engine may be left")]
    // SAFETY: the engine is made and dropped in `compile`, and nothing is locked.
    let compiled =
        unsafe { Fiber::new(options.stack_bytes + RESERVE_STACK_BYTES).run(&heap, compile) };
    let compiled = match compiled {
        Ok(Some(result)) => result,
        Ok(None) => Err(heap.abandon_error()),
        Err(error) => Err(ScriptError::Engine(error.to_string())),
    };
    // Frames of an abandoned engine keep handles to the heap, so the heap is never dropped and its
    // account must be closed here.
    heap.close_account();
    compiled
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn engine_error(error: rquickjs::Error) -> ScriptError {
    ScriptError::Engine(error.to_string())
}

/// The compile error of the pending exception, with its line in the script.
fn syntax_error(ctx: &Ctx<'_>, error: &rquickjs::Error) -> ScriptError {
    if !matches!(error, rquickjs::Error::Exception) {
        return ScriptError::Compile {
            message: error.to_string(),
            line: None,
        };
    }
    let thrown = exception::describe(&ctx.catch());
    if exception::is_out_of_memory(&thrown) {
        return ScriptError::OutOfMemory;
    }
    let line = thrown
        .stack
        .split_once(&format!("{SCRIPT_FILE}:"))
        .and_then(|(_, place)| place.split(':').next()?.trim().parse().ok());
    ScriptError::Compile {
        message: thrown.text,
        line,
    }
}

/// The name of the function with which a body of declarations begins.
fn first_declared(body: &str) -> Option<&str> {
    let text = skip_blank(body);
    let text = skip_word(text, "async").unwrap_or(text);
    let text = skip_word(text, "function")?;
    let text = text.strip_prefix('*').map_or(text, skip_blank);
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
        .unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

fn skip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    let blank = skip_blank(rest);
    (blank.len() < rest.len() || rest.starts_with('*')).then_some(blank)
}

/// Skips white space and comments.
fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if let Some(comment) = text.strip_prefix("//") {
            text = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if let Some(comment) = text.strip_prefix("/*") {
            text = comment.split_once("*/").map_or("", |(_, rest)| rest);
        } else {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(options: &ScriptOptions, body: &str) -> Result<Bytecode, ScriptError> {
        function(options, &Clock::Steps, &MemoryShare::unlimited(), body)
    }

    #[test]
    fn bodies() {
        let options = ScriptOptions::default();
        for (body, line) in [
            ("function () {}", None),
            ("function f() {}", None),
            ("function f() {};  ", None),
            ("// c\nfunction f() {} // c", None),
            ("async function f() { await 1; }", None),
            ("() => 1", None),
            ("(function () {});\nfunction helper() {}", None),
            ("(function () {});\nvar x = 1;", None),
            ("(function () {}", Some(1)),
            ("x => x", None),
            ("function f() { return g(); } function g() {}", None),
            ("/* a */ function f() {}\nvar x = 1;", None),
            ("function f() { return /a+/g; }", None),
            ("serverScript() { var x = 10; }", Some(1)),
            ("function f() {\n  var = 1;\n}", Some(2)),
            ("", Some(2)),
        ] {
            match (compile(&options, body), line) {
                (Ok(_), None) => {}
                (Err(ScriptError::Compile { line: found, .. }), Some(_)) => {
                    assert_eq!(found, line, "{body}");
                }
                (result, _) => panic!("{body}: {:?}", result.err()),
            }
        }
    }

    #[test]
    fn a_body_has_a_limit_and_what_compiling_it_takes_has_none() {
        let options = ScriptOptions {
            heap_bytes: 4 << 20,
            ..ScriptOptions::default()
        };
        let bytes_max = options.heap_bytes / MEMORY_PER_SOURCE_BYTE;
        let body_of = |functions: usize| format!("() => [{}]", "()=>0,".repeat(functions));
        // Half of these bodies need more compiler memory than a run may have.
        for functions in [1, 1_000, 5_000, bytes_max / 6 - 2] {
            assert!(
                compile(&options, &body_of(functions)).is_ok(),
                "{functions}"
            );
        }
        let failure = compile(&options, &body_of(bytes_max / 6)).err();
        assert!(matches!(failure, Some(ScriptError::Compile { message, .. })
            if message.contains("may have 65536 at most")));
    }

    #[test]
    fn first_declared_names() {
        for (body, name) in [
            ("function f() {}", Some("f")),
            ("/* x */ async function  $g1 (", Some("$g1")),
            ("function* f() {}", Some("f")),
            ("function() {}", None),
            ("functional()", None),
            ("// only a comment", None),
        ] {
            assert_eq!(first_declared(body), name, "{body}");
        }
    }
}
