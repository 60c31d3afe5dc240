//! The native functions from which the prelude builds the API of scripts.
//!
//! The prelude checks arguments and words their errors; links and bodies are checked here. An
//! operation returns `{resource, options}`, or `{number, body}` for a refusal. A write function
//! also checks whether the run may write, and returns nothing if not: scripts write in loops, so
//! one call from the script and one call of the host must suffice for each write.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::{Ctx, Function, Object, Result, String as JsString, Value as JsValue};

use crate::ScriptOptions;
use crate::answer::{self, HostResult};
use crate::arguments::{JsonArgument, name, page_request, query, spatial_function, write_options};
use crate::bridge::Bridge;
use crate::copy_counter::{CopyCounter, Refusal};
use crate::plain::Measure;
use crate::runtime::RuntimeShared;
use crate::{bytecode, convert, links, plain, texts};

/// The name of a link in errors.
const LINK: &str = "The link";

/// The `native` object of the prelude, with the functions for every script.
pub(crate) fn core_natives<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Bridge>,
    options: &ScriptOptions,
) -> Result<Object<'js>> {
    let natives = Object::new(ctx.clone())?;
    natives.set("logLengthMax", options.log_bytes as f64)?;
    natives.set("jsonLengthMax", texts::JSON_LENGTH_MAX as f64)?;
    let bridge = Rc::clone(shared);
    natives.set(
        "fits",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, value: JsValue<'js>, length_max: f64| {
                fits(&ctx, &bridge, &value, length_max)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "logging",
        Function::new(ctx.clone(), move || bridge.logging.get())?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "check",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| bridge.check(&ctx))?,
    )?;
    natives.set(
        "ownLength",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, value: JsValue<'js>| {
            plain::own_length(&ctx, &value)
        })?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "log",
        Function::new(ctx.clone(), move |text: JsString<'js>| {
            if texts::length(&text) > bridge.log_bytes_max() {
                return Ok(false);
            }
            convert::lossy_text(&text).map(|text| bridge.append_log(&text))
        })?,
    )?;
    Ok(natives)
}

/// Adds the functions for procedures and triggers to `natives`.
pub(crate) fn add_host_natives<'js>(
    ctx: &Ctx<'js>,
    bridge: &Rc<Bridge>,
    runtime: &Arc<RuntimeShared>,
    natives: &Object<'js>,
) -> Result<()> {
    natives.set(
        "responseLengthMax",
        runtime.options.response_length_max as f64,
    )?;
    let runtime = Arc::clone(runtime);
    natives.set(
        "queries",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
            bytecode::evaluate(&ctx, &runtime.prelude.queries)
        })?,
    )?;
    run_functions(ctx, bridge, natives)?;
    link_functions(ctx, bridge, natives)?;
    read_functions(ctx, bridge, natives)?;
    write_functions(ctx, bridge, natives)
}

/// Functions that control the run.
fn run_functions<'js>(ctx: &Ctx<'js>, shared: &Rc<Bridge>, natives: &Object<'js>) -> Result<()> {
    let bridge = Rc::clone(shared);
    natives.set(
        "accepted",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| bridge.accepted(&ctx))?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "abort",
        Function::new(ctx.clone(), move |value: JsValue<'js>| bridge.abort(&value))?,
    )
}

/// Whether a value's JSON text can stay within a length limit, so that making the text is
/// worthwhile. `None` means that the limit check needs the text itself.
fn fits<'js>(
    ctx: &Ctx<'js>,
    bridge: &Bridge,
    value: &JsValue<'js>,
    length_max: f64,
) -> Result<Option<bool>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the prelude passes an option of the runtime on"
    )]
    let length_max = length_max as usize;
    match plain::measure(ctx, value, length_max, &mut CopyCounter::new(bridge)) {
        Ok(Measure::Fits) => Ok(Some(true)),
        Ok(Measure::NotPlain) => Ok(None),
        Err(Refusal::TooLarge) => Ok(Some(false)),
        Err(refusal) => Err(bridge.refused(ctx, refusal, "The value")),
    }
}

/// Functions of links and ids.
fn link_functions<'js>(ctx: &Ctx<'js>, shared: &Rc<Bridge>, natives: &Object<'js>) -> Result<()> {
    let bridge = Rc::clone(shared);
    natives.set(
        "selfLink",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
            bridge.host(&ctx, |host| host.self_link().to_owned())
        })?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "altLink",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
            bridge.host(&ctx, |host| host.alt_link().to_owned())
        })?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "isCollectionLink",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, link: JsString<'js>| {
            let link = name(&bridge, &link, LINK)?;
            bridge.host(&ctx, |host| links::is_collection(host, &link))
        })?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "newId",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
            bridge.host(&ctx, |host| host.new_id())
        })?,
    )
}

/// Functions that read. All arguments are copied before the host is called.
fn read_functions<'js>(ctx: &Ctx<'js>, shared: &Rc<Bridge>, natives: &Object<'js>) -> Result<()> {
    let bridge = Rc::clone(shared);
    natives.set(
        "read",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: JsString<'js>, known: Option<JsString<'js>>| {
                let link = name(&bridge, &link, LINK)?;
                let if_none_match = known
                    .map(|text| name(&bridge, &text, "The etag"))
                    .transpose()?;
                let outcome = bridge.host(&ctx, |host| {
                    let document = links::document(host, &link)?;
                    host.read_document(&document, if_none_match.as_deref())
                })?;
                answer::read(&bridge, &ctx, outcome)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "feed",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: JsString<'js>, page: Object<'js>| {
                let link = name(&bridge, &link, LINK)?;
                let page = page_request(&bridge, &page)?;
                let outcome = bridge.host(&ctx, |host| {
                    links::collection(host, &link)?;
                    host.read_documents(&page)
                })?;
                answer::page(&bridge, &ctx, outcome)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "query",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: JsString<'js>, spec: JsString<'js>, page: Object<'js>| {
                let link = name(&bridge, &link, LINK)?;
                let page = page_request(&bridge, &page)?;
                let spec = JsonArgument::of_text(&ctx, &bridge, &spec, "The query")?;
                let outcome = bridge.host(&ctx, |host| {
                    links::collection(host, &link)?;
                    spec.pass(|spec| host.query_documents(&query(&spec)?, &page))
                })?;
                answer::page(&bridge, &ctx, outcome)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "spatial",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, function: String, geometries: Vec<JsString<'js>>| {
                let geometries = geometries
                    .iter()
                    .map(|text| JsonArgument::of_text(&ctx, &bridge, text, "The geometry"));
                let geometries = geometries.collect::<Result<Vec<_>>>()?;
                let outcome = bridge.host(&ctx, |host| {
                    let geometries = geometries.into_iter().map(|text| text.pass(Ok));
                    let geometries = geometries.collect::<HostResult<Vec<_>>>()?;
                    host.spatial(spatial_function(&function)?, &geometries)
                })?;
                match outcome {
                    Ok(value) => answer::success(&bridge, &ctx, convert::to_js(&ctx, &value)?),
                    Err(error) => answer::refused(&ctx, &error),
                }
            },
        )?,
    )
}

/// Functions that write.
fn write_functions<'js>(ctx: &Ctx<'js>, shared: &Rc<Bridge>, natives: &Object<'js>) -> Result<()> {
    let bridge = Rc::clone(shared);
    natives.set(
        "create",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>,
                  link: JsString<'js>,
                  body: JsValue<'js>,
                  options: Option<Object<'js>>| {
                let link = name(&bridge, &link, LINK)?;
                let options = write_options(&bridge, options)?;
                // The body is copied last. The copy is large, and it would be lost if the thread
                // abandoned the engine in a later step.
                let body = JsonArgument::new(&ctx, &bridge, &body)?;
                let written = bridge.write(&ctx, |host| {
                    links::collection(host, &link)?;
                    body.pass(|body| host.create_document(body, &options))
                })?;
                answer::document(&bridge, &ctx, written)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "upsert",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>,
                  link: JsString<'js>,
                  body: JsValue<'js>,
                  options: Option<Object<'js>>| {
                let link = name(&bridge, &link, LINK)?;
                let options = write_options(&bridge, options)?;
                // The body is copied last. The copy is large, and it would be lost if the thread
                // abandoned the engine in a later step.
                let body = JsonArgument::new(&ctx, &bridge, &body)?;
                let written = bridge.write(&ctx, |host| {
                    links::collection(host, &link)?;
                    body.pass(|body| host.upsert_document(body, &options))
                })?;
                answer::document(&bridge, &ctx, written)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "replace",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>,
                  link: JsString<'js>,
                  body: JsValue<'js>,
                  options: Option<Object<'js>>| {
                let link = name(&bridge, &link, LINK)?;
                let options = write_options(&bridge, options)?;
                // The body is copied last. The copy is large, and it would be lost if the thread
                // abandoned the engine in a later step.
                let body = JsonArgument::new(&ctx, &bridge, &body)?;
                let written = bridge.write(&ctx, |host| {
                    let document = links::document(host, &link)?;
                    body.pass(|body| host.replace_document(&document, body, &options))
                })?;
                answer::document(&bridge, &ctx, written)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "delete",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: JsString<'js>, options: Option<Object<'js>>| {
                let link = name(&bridge, &link, LINK)?;
                let options = write_options(&bridge, options)?;
                let written = bridge.write(&ctx, |host| {
                    let document = links::document(host, &link)?;
                    host.delete_document(&document, &options)
                })?;
                answer::deletion(&ctx, written)
            },
        )?,
    )
}
