//! What the prelude asks for, as the host takes it.

use orrery_json::Value;
use rquickjs::{Ctx, Error, FromJs, Object, Result, Value as JsValue};

use crate::answer::Outcome;
use crate::{HostError, IndexAction, PageRequest, Query, SpatialFunction, WriteOptions};
use crate::{convert, plain};

pub(crate) fn page_request(page: &Object<'_>) -> Result<PageRequest> {
    let size: f64 = page.get("pageSize")?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and saturates"
    )]
    let items_max = (size >= 1.0).then_some(size as usize);
    Ok(PageRequest {
        items_max,
        continuation: page.get("continuation")?,
        enable_scan: page.get::<_, Option<bool>>("enableScan")?.unwrap_or(false),
    })
}

/// Without options there is no object either.
pub(crate) fn write_options(options: Option<Object<'_>>) -> Result<WriteOptions> {
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
        etag: options.get("etag")?,
    })
}

/// The body of a document: text is read when the host is asked, and may then be refused.
pub(crate) enum Body {
    Plain(Value),
    Text(String),
}

impl Body {
    pub(crate) fn new<'js>(ctx: &Ctx<'js>, given: &JsValue<'js>) -> Result<Body> {
        if given.is_object() {
            if let Some(value) = plain::read(ctx, given) {
                return Ok(Body::Plain(value));
            }
            let text = ctx.json_stringify(given.clone())?;
            let text = text.ok_or_else(|| Error::new_from_js("undefined", "string"))?;
            return text.to_string().map(Body::Text);
        }
        String::from_js(ctx, given.clone()).map(Body::Text)
    }

    pub(crate) fn value(self) -> Outcome<Value> {
        match self {
            Body::Plain(value) => Ok(value),
            Body::Text(text) => body(&text),
        }
    }
}

pub(crate) fn body(text: &str) -> Outcome<Value> {
    convert::parse_script_json(text).map_err(|message| {
        HostError::new(400, format!("The document is not valid JSON: {message}."))
    })
}

pub(crate) fn query(spec: &str) -> Outcome<Query> {
    let spec = body(spec)?;
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
