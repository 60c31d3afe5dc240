//! The native functions that the prelude builds the scripts' API from.
//!
//! Arguments were checked by the prelude, which says what is wrong with them; links and bodies are
//! checked here. An operation gives `{resource, options}`, or `{number, body}` when it is refused. A
//! write also asks whether it is accepted, and gives nothing when it is not: writes come in loops, and
//! one call from the script and one of the host is enough for each.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::{Ctx, Function, Object, Result, String as JsString, Value as JsValue};

use crate::ScriptOptions;
use crate::answer::{self, Outcome};
use crate::arguments::{Body, body, page_request, query, spatial_function, write_options};
use crate::bridge::Bridge;
use crate::runtime::Shared;
use crate::{bytecode, convert, links};

/// The `native` object of the prelude: what every script needs.
pub(crate) fn core_natives<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Bridge>,
    options: &ScriptOptions,
) -> Result<Object<'js>> {
    let natives = Object::new(ctx.clone())?;
    natives.set("logLengthMax", options.log_bytes as f64)?;
    let bridge = Rc::clone(shared);
    natives.set(
        "logging",
        Function::new(ctx.clone(), move || bridge.logging.get())?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "log",
        Function::new(ctx.clone(), move |text: JsString<'js>| {
            convert::lossy_text(&text).map(|text| bridge.append_log(&text))
        })?,
    )?;
    Ok(natives)
}

/// Adds to `natives` what procedures and triggers need.
pub(crate) fn add_host_natives<'js>(
    ctx: &Ctx<'js>,
    bridge: &Rc<Bridge>,
    runtime: &Arc<Shared>,
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
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, link: String| {
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

fn read_functions<'js>(ctx: &Ctx<'js>, shared: &Rc<Bridge>, natives: &Object<'js>) -> Result<()> {
    let bridge = Rc::clone(shared);
    natives.set(
        "read",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: String, if_none_match: Option<String>| {
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
            move |ctx: Ctx<'js>, link: String, page: Object<'js>| {
                let page = page_request(&page)?;
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
            move |ctx: Ctx<'js>, link: String, spec: String, page: Object<'js>| {
                let page = page_request(&page)?;
                let outcome = bridge.host(&ctx, |host| {
                    links::collection(host, &link)?;
                    host.query_documents(&query(&spec)?, &page)
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
            move |ctx: Ctx<'js>, name: String, geometries: Vec<String>| {
                let outcome = bridge.host(&ctx, |host| {
                    let geometries: Outcome<Vec<_>> =
                        geometries.iter().map(|text| body(text)).collect();
                    host.spatial(spatial_function(&name)?, &geometries?)
                })?;
                match outcome {
                    Ok(value) => answer::success(&bridge, &ctx, convert::to_js(&ctx, &value)?),
                    Err(error) => answer::refused(&ctx, &error),
                }
            },
        )?,
    )
}

fn write_functions<'js>(ctx: &Ctx<'js>, shared: &Rc<Bridge>, natives: &Object<'js>) -> Result<()> {
    let bridge = Rc::clone(shared);
    natives.set(
        "create",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: String, body: JsValue<'js>, options: Option<Object<'js>>| {
                let body = Body::new(&ctx, &body)?;
                let options = write_options(options)?;
                let written = bridge.write(&ctx, |host| {
                    links::collection(host, &link)?;
                    host.create_document(body.value()?, &options)
                })?;
                answer::document(&ctx, written)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "upsert",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: String, body: JsValue<'js>, options: Option<Object<'js>>| {
                let body = Body::new(&ctx, &body)?;
                let options = write_options(options)?;
                let written = bridge.write(&ctx, |host| {
                    links::collection(host, &link)?;
                    host.upsert_document(body.value()?, &options)
                })?;
                answer::document(&ctx, written)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "replace",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: String, body: JsValue<'js>, options: Option<Object<'js>>| {
                let body = Body::new(&ctx, &body)?;
                let options = write_options(options)?;
                let written = bridge.write(&ctx, |host| {
                    let document = links::document(host, &link)?;
                    host.replace_document(&document, body.value()?, &options)
                })?;
                answer::document(&ctx, written)
            },
        )?,
    )?;
    let bridge = Rc::clone(shared);
    natives.set(
        "delete",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, link: String, options: Option<Object<'js>>| {
                let options = write_options(options)?;
                let written = bridge.write(&ctx, |host| {
                    let document = links::document(host, &link)?;
                    host.delete_document(&document, &options)
                })?;
                answer::deletion(&ctx, written)
            },
        )?,
    )
}
