//! Point reads and writes.

use std::time::Instant;

use hyper::Method;
use orrery_client::Request;
use orrery_json::Value;

use super::object;
use crate::error::Error;
use crate::key_values::KeyValues;
use crate::output::print_message;
use crate::session::ShellSession;
use crate::statement::Write;

/// Reads one item and shows it.
pub(super) async fn get(
    session: &mut ShellSession,
    id: &str,
    key: Option<KeyValues>,
) -> Result<(), Error> {
    let key = session.key_of(id, key).await?;
    let request = session.request(Method::GET, id)?;
    exchange(session, request, &key).await?.show(session)
}

/// Creates, upserts or replaces an item. Its partition key comes from the item itself.
pub(super) async fn write(
    session: &mut ShellSession,
    kind: Write,
    item: &Value,
) -> Result<(), Error> {
    let key = KeyValues::of_item(item, &session.definition().await?.key_paths);
    let id = item.get("id").as_str().unwrap_or_default();
    let feed = Request::feed(Method::POST, "docs", &session.link()?);
    let request = match kind {
        Write::Create => feed,
        Write::Upsert => feed.header("x-ms-documentdb-is-upsert", "True"),
        Write::Replace => {
            let request = session.request(Method::PUT, id)?;
            match item.get("_etag").as_str() {
                // The etag comes from an earlier read. The condition stops this write from
                // overwriting a later change of another client.
                Some(etag) => request.header("if-match", etag),
                None => request,
            }
        }
    };
    let request = request
        .header("content-type", "application/json")
        .body(item.to_string());
    print_message(&exchange(session, request, &key).await?.cost);
    Ok(())
}

/// Patches an item and shows the result.
pub(super) async fn patch(
    session: &mut ShellSession,
    id: &str,
    key: &KeyValues,
    operations: Value,
) -> Result<(), Error> {
    // A bare array of operations is accepted as well as the whole body.
    let body = match operations {
        Value::Array(_) => object([("operations", operations)]),
        whole => whole,
    };
    let request = session
        .request(Method::PATCH, id)?
        .header("content-type", "application/json-patch+json")
        .body(body.to_string());
    exchange(session, request, key).await?.show(session)
}

/// Deletes one item.
pub(super) async fn delete(
    session: &mut ShellSession,
    id: &str,
    key: Option<KeyValues>,
) -> Result<(), Error> {
    let key = session.key_of(id, key).await?;
    let request = session.request(Method::DELETE, id)?;
    print_message(&exchange(session, request, &key).await?.cost);
    Ok(())
}

/// The outcome of a request.
struct ItemOutcome {
    item: Option<Value>,
    /// The action, the charge and the time, as text.
    cost: String,
}

impl ItemOutcome {
    /// Shows the item as the result and the cost as a message.
    fn show(self, session: &mut ShellSession) -> Result<(), Error> {
        session.output.all(self.item.as_slice())?;
        print_message(&self.cost);
        Ok(())
    }
}

/// Sends a request for one item and measures it.
async fn exchange(
    session: &mut ShellSession,
    request: Request,
    key: &KeyValues,
) -> Result<ItemOutcome, Error> {
    let request = request.header("x-ms-documentdb-partitionkey", key.to_string());
    let begin = Instant::now();
    let answer = session.client.send(&request).await?;
    let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
    let done = match answer.status {
        201 => "created, ",
        204 => "deleted, ",
        _ => "",
    };
    // A deletion has no body.
    let item = match answer.body.as_ref() {
        [] => None,
        _ => Some(answer.json()?),
    };
    Ok(ItemOutcome {
        item,
        cost: format!("{done}{:.2} RU, {milliseconds:.1} ms", answer.charge()),
    })
}
