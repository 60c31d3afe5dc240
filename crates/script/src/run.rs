//! One run in a sandbox: the function, then its callbacks and promises until none is left.

use std::cell::OnceCell;
use std::sync::Arc;

use rquickjs::function::Args;
use rquickjs::{Array, Ctx, Exception, Function, IntoJs, Value as JsValue};

use crate::bytecode::{self, Bytecode};
use crate::runtime::RuntimeShared;
use crate::sandbox::{BodyText, Sandbox};
use crate::submission::{RunResult, ScriptRun};
use crate::{Job, JobKind, JsonText, ScriptError, ScriptOutcome};
use crate::{convert, texts};

/// Maximal number of a procedure's arguments; the engine passes no more to any function.
const ARGUMENTS_MAX: usize = 65_534;

/// Runs the present job. `code_slot` holds the script's bytecode, because the engine borrows it and
/// may be abandoned.
pub(crate) fn run(
    shared: &RuntimeShared,
    sandbox: &Sandbox<'_>,
    run: &Arc<dyn ScriptRun>,
    code_slot: &OnceCell<Arc<Bytecode>>,
) -> RunResult {
    let job = run.job();
    let bridge = &sandbox.bridge;
    bridge.restart_budget();
    bridge.logging.set(job.logging);
    *bridge.run.borrow_mut() = Some(Arc::downgrade(run));
    let opened = bridge.heap().account().open(&job.share);
    let result = opened
        .map_err(ScriptError::Memory)
        .and_then(|()| drive(shared, sandbox, job, code_slot));
    let elapsed = bridge.budget.elapsed();
    // The host learns the elapsed time before it is detached from the bridge.
    run.with_host(&mut |host| host.ended(elapsed));
    bridge.run.borrow_mut().take();
    result
}

/// Compiles the script, calls its function, and runs all callbacks.
fn drive(
    shared: &RuntimeShared,
    sandbox: &Sandbox<'_>,
    job: &Job,
    code_slot: &OnceCell<Arc<Bytecode>>,
) -> RunResult {
    let code = shared.compiled(&job.source, &job.share)?;
    let code = code_slot.get_or_init(|| code);
    let fail = |error| sandbox.failure(&error);
    let arguments = arguments(sandbox, job).map_err(fail)?;
    begin(sandbox, job, &arguments).map_err(fail)?;
    let function = bytecode::evaluate(&sandbox.ctx, code).map_err(fail)?;
    let function = function.as_function().ok_or(ScriptError::NotAFunction)?;
    call(sandbox, function, &arguments).map_err(fail)?;
    drain(sandbox)?;
    finish(shared, sandbox, job)
}

/// The arguments of the function, which are also the request body.
fn arguments<'js>(sandbox: &Sandbox<'js>, job: &Job) -> rquickjs::Result<Vec<JsValue<'js>>> {
    let arguments = match &job.kind {
        JobKind::Procedure { arguments } => &arguments[..],
        JobKind::PreTrigger { .. } | JobKind::PostTrigger { .. } => &[],
    };
    if arguments.len() > ARGUMENTS_MAX {
        let message = format!(
            "the procedure has {} arguments, and may have {ARGUMENTS_MAX} at most",
            arguments.len()
        );
        return Err(Exception::throw_range(&sandbox.ctx, &message));
    }
    let converted = arguments
        .iter()
        .map(|argument| convert::to_js(&sandbox.ctx, argument));
    converted.collect()
}

/// Sets the properties of request and response that the kind of script has.
fn begin<'js>(
    sandbox: &Sandbox<'js>,
    job: &Job,
    arguments: &[JsValue<'js>],
) -> rquickjs::Result<()> {
    let ctx = &sandbox.ctx;
    let undefined = || JsValue::new_undefined(ctx.clone());
    let parsed = |body: &Option<JsonText>| match body {
        Some(text) => texts::parsed(ctx, &sandbox.bridge, text.as_slice()),
        None => Ok(undefined()),
    };
    let headers = Array::new(ctx.clone())?;
    for (name, value) in &job.headers {
        property(ctx, &headers, name, convert::text(ctx, value)?, false)?;
    }
    let request = Array::new(ctx.clone())?;
    let operation = |operation: crate::TriggerOperation| {
        let name = convert::text(ctx, operation.name())?;
        property(ctx, &request, "OperationType", name, false)
    };
    let response = Array::new(ctx.clone())?;
    match &job.kind {
        JobKind::Procedure { .. } => {
            let body = Array::new(ctx.clone())?;
            for (index, argument) in arguments.iter().enumerate() {
                body.set(index, argument.clone())?;
            }
            property(ctx, &request, "Body", body.into_value(), false)?;
            property(ctx, &response, "Body", undefined(), true)?;
        }
        JobKind::PreTrigger {
            operation: kind,
            body,
        } => {
            operation(*kind)?;
            property(ctx, &request, "Body", parsed(body)?, true)?;
            return sandbox.begin(headers, request, None);
        }
        JobKind::PostTrigger {
            operation: kind,
            body,
            response: answer,
        } => {
            operation(*kind)?;
            property(ctx, &request, "Body", parsed(body)?, false)?;
            property(ctx, &response, "Body", parsed(&answer.body)?, true)?;
            let quota = convert::text(ctx, &answer.max_resource_quota)?;
            property(ctx, &response, "MaxResourceQuota", quota, false)?;
            let usage = convert::text(ctx, &answer.resource_quota_usage)?;
            property(ctx, &response, "ResourceQuotaCurrentUsage", usage, false)?;
        }
    }
    sandbox.begin(headers, request, Some(response))
}

fn call<'js>(
    sandbox: &Sandbox<'js>,
    function: &Function<'js>,
    arguments: &[JsValue<'js>],
) -> rquickjs::Result<()> {
    let mut args = Args::new(sandbox.ctx.clone(), arguments.len());
    for argument in arguments {
        args.push_arg(argument.clone())?;
    }
    args.apply::<JsValue<'js>>(function).map(|_| ())
}

/// Runs callbacks one at a time, each followed by the promises that it has settled. A rejected
/// promise is not an error of the run.
fn drain(sandbox: &Sandbox<'_>) -> Result<(), ScriptError> {
    let check = || sandbox.bridge.stopped().map_or(Ok(()), Err);
    loop {
        check()?;
        while sandbox.ctx.execute_pending_job() {
            check()?;
        }
        check()?;
        if !sandbox.next().map_err(|error| sandbox.failure(&error))? {
            return Ok(());
        }
    }
}

/// Collects the outcome of a finished script.
fn finish(shared: &RuntimeShared, sandbox: &Sandbox<'_>, job: &Job) -> RunResult {
    let fail = |error| sandbox.failure(&error);
    let (body, request_body) = sandbox.finish().map_err(fail)?;
    let length_max = shared.options.response_length_max;
    let is_pre_trigger = matches!(job.kind, JobKind::PreTrigger { .. });
    let body = text_of(sandbox, body, "response body", length_max)?;
    let request_body = match request_body {
        Some(text) if is_pre_trigger => text_of(sandbox, Some(text), "request body", length_max)?,
        _ => None,
    };
    let _held = match &request_body {
        Some(text) => {
            let bytes = convert::parsed_bytes(text);
            let held = sandbox
                .bridge
                .lease(&sandbox.ctx, "The request body", bytes);
            Some(held.map_err(fail)?)
        }
        None => None,
    };
    let request_body = request_body
        .map(|text| convert::parse_script_json(&text))
        .transpose()
        .map_err(|message| {
            ScriptError::Threw(crate::ScriptException {
                number: Some(400),
                text: format!("Error: The request body is not valid JSON: {message}."),
                stack: String::new(),
            })
        })?;
    // Making the texts can exhaust a limit, so the state is checked once more.
    if let Some(stopped) = sandbox.bridge.stopped() {
        return Err(stopped);
    }
    Ok(ScriptOutcome {
        body,
        request_body,
        log: sandbox.bridge.log.take(),
    })
}

/// The text of a body. The script may have lengthened it after setting the body, so the length is
/// checked here.
fn text_of<'js>(
    sandbox: &Sandbox<'js>,
    body: Option<BodyText<'js>>,
    what: &'static str,
    length_max: usize,
) -> Result<Option<String>, ScriptError> {
    match body {
        None => Ok(None),
        Some(BodyText::Made(text)) if texts::length(&text) <= length_max => {
            let copied = sandbox
                .bridge
                .heap()
                .without_abandoning(|| text.to_string());
            copied.map(Some).map_err(|error| sandbox.failure(&error))
        }
        Some(BodyText::Made(_) | BodyText::TooLong) => {
            Err(ScriptError::TooLarge { what, length_max })
        }
    }
}

/// One property of a request or response, in the form that the prelude expects.
fn property<'js>(
    ctx: &Ctx<'js>,
    properties: &Array<'js>,
    name: &str,
    value: JsValue<'js>,
    writable: bool,
) -> rquickjs::Result<()> {
    let property = Array::new(ctx.clone())?;
    property.set(0, name)?;
    property.set(1, value)?;
    property.set(2, writable.into_js(ctx)?)?;
    properties.set(properties.len(), property)
}
