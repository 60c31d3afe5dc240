//! Converts results of the host into the objects that the prelude expects.

use rquickjs::{Ctx, Object, Result, Value as JsValue};

use crate::bridge::Bridge;
use crate::texts;
use crate::{CollectionSize, FeedPage, HostError, JsonText, ReadDocument};

pub(crate) type HostResult<T> = std::result::Result<T, HostError>;

/// The result of a write, together with the collection's size afterwards.
pub(crate) type WriteResult<T> = HostResult<(T, Option<CollectionSize>)>;

/// The result of a write of one document; `None` if the write was not accepted.
pub(crate) fn document<'js>(
    bridge: &Bridge,
    ctx: &Ctx<'js>,
    written: Option<WriteResult<JsonText>>,
) -> Result<Option<Object<'js>>> {
    let answer = written.map(|written| match written {
        Ok((text, size)) => sized(ctx, texts::parsed(ctx, bridge, text)?, size),
        Err(error) => refused(ctx, &error),
    });
    answer.transpose()
}

/// The result of a delete; `None` if the delete was not accepted.
pub(crate) fn deletion<'js>(
    ctx: &Ctx<'js>,
    written: Option<WriteResult<()>>,
) -> Result<Option<Object<'js>>> {
    let answer = written.map(|written| match written {
        Ok(((), size)) => sized(ctx, JsValue::new_undefined(ctx.clone()), size),
        Err(error) => refused(ctx, &error),
    });
    answer.transpose()
}

/// The result of a point read.
pub(crate) fn read<'js>(
    bridge: &Bridge,
    ctx: &Ctx<'js>,
    outcome: HostResult<ReadDocument>,
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

/// The result of a page: its rows, and the continuation if more rows exist.
pub(crate) fn page<'js>(
    bridge: &Bridge,
    ctx: &Ctx<'js>,
    outcome: HostResult<FeedPage>,
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

/// A refused operation as `{number, body}`.
pub(crate) fn refused<'js>(ctx: &Ctx<'js>, error: &HostError) -> Result<Object<'js>> {
    let refused = Object::new(ctx.clone())?;
    refused.set("number", error.number)?;
    refused.set("body", error.message.as_str())?;
    Ok(refused)
}
