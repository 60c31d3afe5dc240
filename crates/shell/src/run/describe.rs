//! Lists and describes resources.

use std::fmt::Write;

use orrery_json::Value;

use super::object;
use crate::account::{self, Container};
use crate::error::Error;
use crate::output::{Format, pretty};
use crate::session::ShellSession;

/// Lists the containers of a database with their partition keys.
pub(super) async fn containers(
    session: &mut ShellSession,
    database: Option<String>,
) -> Result<(), Error> {
    let database = match database {
        Some(database) => database,
        None => session.database()?.to_owned(),
    };
    let found = account::containers(&mut session.client, &database).await?;
    let rows: Vec<Value> = found
        .iter()
        .map(|container| {
            object([
                ("container", Value::from(container.id.as_str())),
                ("partitionKey", Value::from(container.key_text())),
            ])
        })
        .collect();
    session.output.all(&rows)
}

/// Shows all settings of a container.
pub(super) async fn describe(
    session: &mut ShellSession,
    name: Option<String>,
) -> Result<(), Error> {
    let link = match name {
        Some(name) => format!("dbs/{}/colls/{name}", session.database()?),
        None => session.link()?,
    };
    let container = account::container(&mut session.client, &link).await?;
    let throughput = throughput(session, &link, &container).await?;
    let partitions = partitions(session, &link).await?;
    let scripts = scripts(session, &link).await?;
    session.output.begin();
    // Other programs get one value; people get sections.
    if session.output.format != Format::Table {
        let mut whole = object([
            ("definition", container.definition),
            ("throughput", Value::from(throughput)),
            ("partitions", Value::Array(partitions)),
        ]);
        if let Value::Object(properties) = &mut whole {
            properties.insert("scripts".to_owned(), Value::Array(scripts));
        }
        session.output.rows(&[whole])?;
        return session.output.end();
    }
    session.output.text(&head(&container, &throughput))?;
    for (title, rows) in [("Partitions", partitions), ("Scripts", scripts)] {
        if !rows.is_empty() {
            session.output.text(&format!("\n{title}\n\n"))?;
            session.output.rows(&rows)?;
        }
    }
    session.output.end()
}

/// The settings of a container, one to a line, and the indexing policy as JSON.
fn head(container: &Container, throughput: &str) -> String {
    let definition = &container.definition;
    let key = definition.get("partitionKey");
    let mut text = format!("container      {}\n", container.id);
    let _ = writeln!(
        text,
        "partition key  {} ({}, version {})",
        container.key_text(),
        key.get("kind").as_str().unwrap_or("Hash"),
        match key.get("version") {
            Value::Undefined => "1".to_owned(),
            version => version.to_string(),
        }
    );
    let _ = writeln!(text, "throughput     {throughput}");
    let ttl = match definition.get("defaultTtl") {
        Value::Undefined => "off".to_owned(),
        Value::Number(seconds) if Value::Number(*seconds) == Value::from(-1) => {
            "on, without a default".to_owned()
        }
        seconds => format!("{seconds} s"),
    };
    let _ = writeln!(text, "time to live   {ttl}");
    let unique = definition.get("uniqueKeyPolicy").get("uniqueKeys");
    for key in unique.as_array().unwrap_or_default() {
        let _ = writeln!(text, "unique key     {}", key.get("paths"));
    }
    let policy = pretty(definition.get("indexingPolicy"));
    let _ = writeln!(text, "\nIndexing policy\n\n{policy}");
    text
}

/// The throughput of a container as text, or that of its database.
async fn throughput(
    session: &mut ShellSession,
    link: &str,
    container: &Container,
) -> Result<String, Error> {
    let client = &mut session.client;
    if let Some(text) = account::throughput(client, &container.rid).await? {
        return Ok(text);
    }
    // The link has the form `dbs/NAME/colls/NAME`.
    let database = link.split('/').nth(1).unwrap_or_default();
    let rid = account::database_rid(client, database).await?;
    // A container without an offer shares the throughput of its database.
    let shared = account::throughput(client, &rid).await?;
    Ok(shared.map_or("serverless or unknown".to_owned(), |text| {
        format!("{text}, shared by the containers of the database")
    }))
}

/// Rows for the partitions: their content and usage from Orrery, only their ranges from other
/// servers.
pub(super) async fn partitions(
    session: &mut ShellSession,
    link: &str,
) -> Result<Vec<Value>, Error> {
    let client = &mut session.client;
    if let Some(report) = account::partitions(client, link).await? {
        let partitions = report.get("partitions").as_array().unwrap_or_default();
        let row = |partition: &Value| {
            let throughput = partition.get("throughput");
            object([
                ("id", partition.get("id").clone()),
                ("from", partition.get("minInclusive").clone()),
                ("to", partition.get("maxExclusive").clone()),
                ("items", partition.get("items").clone()),
                ("bytes", partition.get("bytes").clone()),
                ("RU/s", throughput.get("provisioned").clone()),
                ("used", throughput.get("used").clone()),
                ("throttled", throughput.get("throttled").clone()),
            ])
        };
        return Ok(partitions.iter().map(row).collect());
    }
    let ranges = account::ranges(client, link).await?;
    let rows = ranges.into_iter().map(|range| {
        object([
            ("id", Value::from(range.id)),
            ("from", Value::from(range.min)),
            ("to", Value::from(range.max)),
        ])
    });
    Ok(rows.collect())
}

/// Rows for all scripts, kind by kind.
pub(super) async fn scripts(session: &mut ShellSession, link: &str) -> Result<Vec<Value>, Error> {
    let mut rows = Vec::new();
    for (resource_type, array, kind) in account::SCRIPTS {
        let names = account::scripts(&mut session.client, link, resource_type, array).await?;
        rows.extend(
            names
                .into_iter()
                .map(|name| object([("kind", Value::from(kind)), ("name", Value::from(name))])),
        );
    }
    Ok(rows)
}
