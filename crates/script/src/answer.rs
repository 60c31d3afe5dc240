//! What the host answered, as the prelude takes it.

use rquickjs::{Ctx, Object, Result, Value as JsValue};

use crate::bridge::Bridge;
use crate::texts;
use crate::{CollectionSize, FeedPage, HostError, JsonText, ReadDocument};

pub(crate) type Outcome<T> = std::result::Result<T, HostError>;

/// A write that was done, with the size of the collection after it.
pub(crate) type Written<T> = Outcome<(T, Option<CollectionSize>)>;

/// Nothing for a write that was not accepted.
pub(crate) fn document<'js>(
    bridge: &Bridge,
    ctx: &Ctx<'js>,
    written: Option<Written<JsonText>>,
) -> Result<Option<Object<'js>>> {
    let answer = written.map(|written| match written {
        Ok((text, size)) => sized(ctx, texts::parsed(ctx, bridge, text)?, size),
        Err(error) => refused(ctx, &error),
    });
    answer.transpose()
}

pub(crate) fn deletion<'js>(
    ctx: &Ctx<'js>,
    written: Option<Written<()>>,
) -> Result<Option<Object<'js>>> {
    let answer = written.map(|written| match written {
        Ok(((), size)) => sized(ctx, JsValue::new_undefined(ctx.clone()), size),
        Err(error) => refused(ctx, &error),
    });
    answer.transpose()
}

pub(crate) fn read<'js>(
    bridge: &Bridge,
    ctx: &Ctx<'js>,
    outcome: Outcome<ReadDocument>,
) -> Result<Object<'js>> {
    let (resource, not_modified) = match outcome {
        Ok(ReadDocument::Found(text)) => (texts::parsed(ctx, bridge, text)?, false),
        Ok(ReadDocument::NotModified) => (JsValue::new_undefined(ctx.clone()), true),
        Err(error) => return refused(ctx, &error),
    };
    let success = success(bridge, ctx, resource)?;
    let options: Object<'js> = success.get("options")?;
    options.set("notModified", not_modified)?;
    Ok(success)
}

pub(crate) fn page<'js>(
    bridge: &Bridge,
    ctx: &Ctx<'js>,
    outcome: Outcome<FeedPage>,
) -> Result<Object<'js>> {
    let page = match outcome {
        Ok(page) => page,
        Err(error) => return refused(ctx, &error),
    };
    let rows = texts::parsed_array(ctx, bridge, page.items)?;
    let success = success(bridge, ctx, rows)?;
    if let Some(continuation) = page.continuation {
        let options: Object<'js> = success.get("options")?;
        options.set("continuation", continuation)?;
    }
    Ok(success)
}

pub(crate) fn success<'js>(
    bridge: &Bridge,
    ctx: &Ctx<'js>,
    resource: JsValue<'js>,
) -> Result<Object<'js>> {
    let size = bridge.host(ctx, |host| host.collection_size())?;
    sized(ctx, resource, size)
}

fn sized<'js>(
    ctx: &Ctx<'js>,
    resource: JsValue<'js>,
    size: Option<CollectionSize>,
) -> Result<Object<'js>> {
    let options = Object::new(ctx.clone())?;
    if let Some(size) = size {
        options.set("currentCollectionSizeInMB", size.current_mb)?;
        options.set("maxCollectionSizeInMB", size.max_mb)?;
    }
    let success = Object::new(ctx.clone())?;
    success.set("resource", resource)?;
    success.set("options", options)?;
    Ok(success)
}

pub(crate) fn refused<'js>(ctx: &Ctx<'js>, error: &HostError) -> Result<Object<'js>> {
    let refused = Object::new(ctx.clone())?;
    refused.set("number", error.number)?;
    refused.set("body", error.message.as_str())?;
    Ok(refused)
}
