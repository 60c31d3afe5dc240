//! What the prelude asks for, as the host takes it.

use orrery_json::Value;
use rquickjs::{Ctx, Error, Object, Result, String as JsString, Value as JsValue};

use crate::answer::Outcome;
use crate::bridge::Bridge;
use crate::convert;
use crate::crossing::Held;
use crate::texts::{self, CONTINUATION_LENGTH_MAX, JSON_LENGTH_MAX, NAME_LENGTH_MAX};
use crate::{HostError, IndexAction, PageRequest, Query, SpatialFunction, WriteOptions};

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

/// Without options there is no object either.
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

/// A link, an id or an etag.
pub(crate) fn name(bridge: &Bridge, text: &JsString<'_>, what: &str) -> Result<String> {
    texts::bounded(bridge, text, what, NAME_LENGTH_MAX)
}

/// The body of a document: text is read when the host is asked, and may then be refused. Its bytes are in
/// the account of the run.
pub(crate) enum Body {
    Plain(Value, Held),
    Text(String, Held),
}

impl Body {
    pub(crate) fn new<'js>(ctx: &Ctx<'js>, bridge: &Bridge, given: &JsValue<'js>) -> Result<Body> {
        const WHAT: &str = "The document";
        if given.is_object() {
            if let Some((value, held)) = convert::plain(ctx, bridge, given, WHAT)? {
                return Ok(Body::Plain(value, held));
            }
            let text = ctx.json_stringify(given.clone())?;
            let text = text.ok_or_else(|| Error::new_from_js("undefined", "string"))?;
            return Body::of_text(ctx, bridge, &text, WHAT);
        }
        match given.as_string() {
            Some(text) => Body::of_text(ctx, bridge, text, WHAT),
            None => Err(Error::new_from_js(given.type_name(), "string")),
        }
    }

    /// What a JSON text stands for.
    pub(crate) fn of_text<'js>(
        ctx: &Ctx<'js>,
        bridge: &Bridge,
        text: &JsString<'js>,
        what: &str,
    ) -> Result<Body> {
        let text = texts::bounded(bridge, text, what, JSON_LENGTH_MAX)?;
        let held = bridge.hold(ctx, what, convert::parsed_bytes(&text))?;
        Ok(Body::Text(text, held))
    }

    /// Gives the value to `work`.
    pub(crate) fn pass<T>(self, work: impl FnOnce(Value) -> Outcome<T>) -> Outcome<T> {
        match self {
            Body::Plain(value, _held) => work(value),
            Body::Text(text, _held) => work(body(&text)?),
        }
    }
}

fn body(text: &str) -> Outcome<Value> {
    convert::parse_script_json(text).map_err(|message| {
        HostError::new(400, format!("The document is not valid JSON: {message}."))
    })
}

/// The query of a specification that the prelude made.
pub(crate) fn query(spec: &Value) -> Outcome<Query> {
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
    Ok(Query {
        text: spec.get("query").as_str().unwrap_or_default().to_owned(),
        parameters,
    })
}

pub(crate) fn spatial_function(name: &str) -> Outcome<SpatialFunction> {
    match name {
        "distance" => Ok(SpatialFunction::Distance),
        "intersects" => Ok(SpatialFunction::Intersects),
        "within" => Ok(SpatialFunction::Within),
        "isValid" => Ok(SpatialFunction::IsValid),
        "isValidDetailed" => Ok(SpatialFunction::IsValidDetailed),
        _ => Err(HostError::new(400, "There is no such spatial function.")),
    }
}
