//! Converts arguments from the prelude into the types of the host.

use orrery_json::Value;
use rquickjs::{Ctx, Error, Object, Result, String as JsString, Value as JsValue};

use crate::answer::HostResult;
use crate::bridge::Bridge;
use crate::convert;
use crate::copy_counter::MemoryLease;
use crate::texts::{self, CONTINUATION_LENGTH_MAX, JSON_LENGTH_MAX, NAME_LENGTH_MAX};
use crate::{HostError, IndexAction, PageRequest, ScriptQuery, SpatialFunction, WriteOptions};

/// The limits of a page. A page size below one leaves the choice to the host.
pub(crate) fn page_request(bridge: &Bridge, page: &Object<'_>) -> Result<PageRequest> {
    let size: f64 = page.get("pageSize")?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and saturates"
    )]
    let items_max = (size >= 1.0).then_some(size as usize);
    Ok(PageRequest {
        items_max,
        continuation: page
            .get::<_, Option<JsString<'_>>>("continuation")?
            .map(|text| {
                let what = "The continuation";
                texts::bounded(bridge, &text, what, CONTINUATION_LENGTH_MAX)
            })
            .transpose()?,
        enable_scan: page.get::<_, Option<bool>>("enableScan")?.unwrap_or(false),
    })
}

/// The options of a write; a call without options has no object either.
pub(crate) fn write_options(bridge: &Bridge, options: Option<Object<'_>>) -> Result<WriteOptions> {
    let Some(options) = options else {
        return Ok(WriteOptions::default());
    };
    let action: String = options.get("indexAction")?;
    Ok(WriteOptions {
        index_action: match action.as_str() {
            "include" => IndexAction::Include,
            "exclude" => IndexAction::Exclude,
            _ => IndexAction::Default,
        },
        etag: options
            .get::<_, Option<JsString<'_>>>("etag")?
            .map(|text| name(bridge, &text, "The etag"))
            .transpose()?,
    })
}

/// Copies a link, an id or an etag.
pub(crate) fn name(bridge: &Bridge, text: &JsString<'_>, what: &str) -> Result<String> {
    texts::bounded(bridge, text, what, NAME_LENGTH_MAX)
}

/// The body of a document. A text is parsed when the host is called, and can be refused then. The
/// account of the run counts its bytes.
pub(crate) enum JsonArgument {
    Plain(Value, MemoryLease),
    Text(String, MemoryLease),
}

impl JsonArgument {
    pub(crate) fn new<'js>(
        ctx: &Ctx<'js>,
        bridge: &Bridge,
        given: &JsValue<'js>,
    ) -> Result<JsonArgument> {
        const WHAT: &str = "The document";
        // A plain object is copied without text; every other object goes through `JSON.stringify`,
        // as the language defines it.
        if given.is_object() {
            if let Some((value, held)) = convert::plain(ctx, bridge, given, WHAT)? {
                return Ok(JsonArgument::Plain(value, held));
            }
            let text = ctx.json_stringify(given.clone())?;
            let text = text.ok_or_else(|| Error::new_from_js("undefined", "string"))?;
            return JsonArgument::of_text(ctx, bridge, &text, WHAT);
        }
        match given.as_string() {
            Some(text) => JsonArgument::of_text(ctx, bridge, text, WHAT),
            None => Err(Error::new_from_js(given.type_name(), "string")),
        }
    }

    /// Takes a JSON text; the lease covers the value that the text will become.
    pub(crate) fn of_text<'js>(
        ctx: &Ctx<'js>,
        bridge: &Bridge,
        text: &JsString<'js>,
        what: &str,
    ) -> Result<JsonArgument> {
        let text = texts::bounded(bridge, text, what, JSON_LENGTH_MAX)?;
        let held = bridge.lease(ctx, what, convert::parsed_bytes(&text))?;
        Ok(JsonArgument::Text(text, held))
    }

    /// Passes the value to `work`. The lease lives until `work` has returned.
    pub(crate) fn pass<T>(self, work: impl FnOnce(Value) -> HostResult<T>) -> HostResult<T> {
        match self {
            JsonArgument::Plain(value, _held) => work(value),
            JsonArgument::Text(text, _held) => work(body(&text)?),
        }
    }
}

fn body(text: &str) -> HostResult<Value> {
    convert::parse_script_json(text).map_err(|message| {
        HostError::new(400, format!("The document is not valid JSON: {message}."))
    })
}

/// The query of a specification that the prelude has built.
pub(crate) fn query(spec: &Value) -> HostResult<ScriptQuery> {
    let mut parameters = Vec::new();
    for parameter in spec.get("parameters").as_array().unwrap_or_default() {
        let Some(name) = parameter.get("name").as_str() else {
            return Err(HostError::new(
                400,
                "A parameter of a query must be an object with 'name' and 'value'.",
            ));
        };
        parameters.push((name.to_owned(), parameter.get("value").clone()));
    }
    Ok(ScriptQuery {
        text: spec.get("query").as_str().unwrap_or_default().to_owned(),
        parameters,
    })
}

pub(crate) fn spatial_function(name: &str) -> HostResult<SpatialFunction> {
    match name {
        "distance" => Ok(SpatialFunction::Distance),
        "intersects" => Ok(SpatialFunction::Intersects),
        "within" => Ok(SpatialFunction::Within),
        "isValid" => Ok(SpatialFunction::IsValid),
        "isValidDetailed" => Ok(SpatialFunction::IsValidDetailed),
        _ => Err(HostError::new(400, "There is no such spatial function.")),
    }
}
