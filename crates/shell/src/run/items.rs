//! Point reads and writes.

use std::time::Instant;

use hyper::Method;
use orrery_json::Value;

use super::object;
use crate::client::Request;
use crate::error::Error;
use crate::key_values::KeyValues;
use crate::output::note;
use crate::session::Session;
use crate::statement::Write;

pub(super) async fn get(
    session: &mut Session,
    id: &str,
    key: Option<KeyValues>,
) -> Result<(), Error> {
    let key = session.key_of(id, key).await?;
    let request = session.request(Method::GET, id)?;
    exchange(session, request, &key).await?.show(session)
}

pub(super) async fn write(session: &mut Session, kind: Write, item: &Value) -> Result<(), Error> {
    let key = KeyValues::of_item(item, &session.definition().await?.key_paths);
    let id = item.get("id").as_str().unwrap_or_default();
    let feed = Request::feed(Method::POST, "docs", &session.link()?);
    let request = match kind {
        Write::Create => feed,
        Write::Upsert => feed.header("x-ms-documentdb-is-upsert", "True"),
        Write::Replace => {
            let request = session.request(Method::PUT, id)?;
            match item.get("_etag").as_str() {
                Some(etag) => request.header("if-match", etag),
                None => request,
            }
        }
    };
    let request = request
        .header("content-type", "application/json")
        .body(item.to_string());
    note(&exchange(session, request, &key).await?.cost);
    Ok(())
}

pub(super) async fn patch(
    session: &mut Session,
    id: &str,
    key: &KeyValues,
    operations: Value,
) -> Result<(), Error> {
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

pub(super) async fn delete(
    session: &mut Session,
    id: &str,
    key: Option<KeyValues>,
) -> Result<(), Error> {
    let key = session.key_of(id, key).await?;
    let request = session.request(Method::DELETE, id)?;
    note(&exchange(session, request, &key).await?.cost);
    Ok(())
}

/// What came of a request.
struct Done {
    item: Option<Value>,
    /// What was done and what it took, in words.
    cost: String,
}

impl Done {
    fn show(self, session: &mut Session) -> Result<(), Error> {
        session.output.all(self.item.as_slice())?;
        note(&self.cost);
        Ok(())
    }
}

async fn exchange(session: &mut Session, request: Request, key: &KeyValues) -> Result<Done, Error> {
    let request = request.header("x-ms-documentdb-partitionkey", key.to_string());
    let begin = Instant::now();
    let answer = session.client.send(&request).await?;
    let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
    let done = match answer.status {
        201 => "created, ",
        204 => "deleted, ",
        _ => "",
    };
    let item = match answer.body.as_ref() {
        [] => None,
        _ => Some(answer.json()?),
    };
    Ok(Done {
        item,
        cost: format!("{done}{:.2} RU, {milliseconds:.1} ms", answer.charge()),
    })
}
