//! The resources of an account: databases, containers, scripts, partitions, throughput.
//!
//! Bodies of the protocol become structs; parts that the shell only shows stay JSON.

use hyper::Method;
use orrery_client::{Client, Request};
use orrery_json::{PropertyPath, Value};

use crate::error::Error;
use crate::query::Query;

/// A physical partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartitionKeyRange {
    pub(crate) id: String,
    pub(crate) min: String,
    pub(crate) max: String,
    pub(crate) parents: Vec<String>,
}

/// A container, with the parts of its definition that statements need.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    pub(crate) id: String,
    pub(crate) key_paths: Vec<PropertyPath>,
    /// The resource id, by which the offer of the container is found.
    pub(crate) rid: String,
    pub(crate) definition: Value,
}

/// The kinds of scripts: the resource type, the array of the feed, and the name in messages.
pub(crate) const SCRIPTS: [(&str, &str, &str); 3] = [
    ("sprocs", "StoredProcedures", "stored procedure"),
    ("triggers", "Triggers", "trigger"),
    ("udfs", "UserDefinedFunctions", "function"),
];

/// The names of all databases.
pub(crate) async fn databases(client: &mut Client) -> Result<Vec<String>, Error> {
    Ok(ids(&feed(client, "dbs", "", "Databases").await?))
}

/// The containers of a database, with their definitions.
pub(crate) async fn containers(
    client: &mut Client,
    database: &str,
) -> Result<Vec<Container>, Error> {
    let link = format!("dbs/{database}");
    let found = feed(client, "colls", &link, "DocumentCollections").await?;
    found.into_iter().map(Container::read).collect()
}

/// The definition of one container.
pub(crate) async fn container(client: &mut Client, link: &str) -> Result<Container, Error> {
    let request = Request::resource(Method::GET, "colls", link);
    Container::read(client.send(&request).await?.json()?)
}

/// The resource id of a database, by which its offer is found.
pub(crate) async fn database_rid(client: &mut Client, name: &str) -> Result<String, Error> {
    let request = Request::resource(Method::GET, "dbs", &format!("dbs/{name}"));
    let database = client.send(&request).await?.json()?;
    let rid = database.get("_rid").as_str();
    rid.map(str::to_owned)
        .ok_or_else(|| Error::Answer("a database without _rid".to_owned()))
}

/// The names of the scripts of one kind.
pub(crate) async fn scripts(
    client: &mut Client,
    link: &str,
    resource_type: &'static str,
    array: &str,
) -> Result<Vec<String>, Error> {
    Ok(ids(&feed(client, resource_type, link, array).await?))
}

/// The present physical partitions, without those that were split or merged.
pub(crate) async fn ranges(
    client: &mut Client,
    link: &str,
) -> Result<Vec<PartitionKeyRange>, Error> {
    let found = feed(client, "pkranges", link, "PartitionKeyRanges").await?;
    let ranges: Vec<PartitionKeyRange> = found.iter().map(PartitionKeyRange::read).collect();
    // A feed may still list the parents of a split; this filter removes every range that another
    // range names as parent.
    let is_gone =
        |range: &PartitionKeyRange| ranges.iter().any(|other| other.parents.contains(&range.id));
    Ok(ranges
        .iter()
        .filter(|range| !is_gone(range))
        .cloned()
        .collect())
}

/// The report of Orrery about the partitions. None from any other server.
pub(crate) async fn partitions(client: &mut Client, link: &str) -> Result<Option<Value>, Error> {
    match client.send(&Request::of_orrery("partitions", link)).await {
        Ok(answer) => Ok(Some(answer.json()?)),
        // Only Orrery serves this path, so a refusal means another server.
        Err(orrery_client::Error::Refused(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The throughput of a database or container, by its resource id, as text.
pub(crate) async fn throughput(client: &mut Client, rid: &str) -> Result<Option<String>, Error> {
    let body = Query {
        database: String::new(),
        container: String::new(),
        text: "SELECT * FROM root WHERE root.offerResourceId = @rid".to_owned(),
        parameters: vec![("@rid".to_owned(), Value::from(rid))],
        key: None,
        page_items: None,
        explain: false,
    }
    .body()
    .to_string();
    let request = Request::feed(Method::POST, "offers", "").query(body);
    let found = match client.send(&request).await {
        Ok(answer) => answer.json()?,
        // A serverless account has no offers.
        Err(orrery_client::Error::Refused(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(offer_text(found.get("Offers").at(0).get("content")))
}

/// The throughput of an offer as text. Autoscale offers also state a present throughput, so
/// autoscale is examined first.
fn offer_text(content: &Value) -> Option<String> {
    let maximum = content.get("offerAutopilotSettings").get("maxThroughput");
    let manual = content.get("offerThroughput");
    match (maximum.as_number(), manual.as_number()) {
        (Some(_), _) => Some(format!("autoscale, at most {maximum} RU/s")),
        (None, Some(_)) => Some(format!("{manual} RU/s")),
        (None, None) => None,
    }
}

impl Container {
    /// Reads the parts of a definition that the shell needs; the whole definition stays for
    /// `describe`.
    fn read(definition: Value) -> Result<Container, Error> {
        let text = |name: &str| definition.get(name).as_str().map(str::to_owned);
        let missing = |name: &str| Error::Answer(format!("a container without {name}"));
        let paths = definition.get("partitionKey").get("paths");
        let paths = paths.as_array().unwrap_or_default().iter();
        let paths: Result<Vec<PropertyPath>, _> = paths
            .filter_map(Value::as_str)
            .map(|path| PropertyPath::parse(path).map_err(|error| Error::Answer(error.to_string())))
            .collect();
        Ok(Container {
            id: text("id").ok_or_else(|| missing("id"))?,
            rid: text("_rid").ok_or_else(|| missing("_rid"))?,
            key_paths: paths?,
            definition,
        })
    }

    /// The paths of the partition key, as messages show them.
    pub(crate) fn key_text(&self) -> String {
        let paths: Vec<String> = self.key_paths.iter().map(ToString::to_string).collect();
        paths.join(", ")
    }
}

impl PartitionKeyRange {
    fn read(range: &Value) -> PartitionKeyRange {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let parents = range.get("parents").as_array().unwrap_or_default();
        PartitionKeyRange {
            id: text(range.get("id")),
            min: text(range.get("minInclusive")),
            max: text(range.get("maxExclusive")),
            parents: parents.iter().map(text).collect(),
        }
    }
}

/// Reads all pages of a feed.
async fn feed(
    client: &mut Client,
    resource_type: &'static str,
    parent: &str,
    array: &str,
) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    let mut continuation: Option<String> = None;
    loop {
        let mut request = Request::feed(Method::GET, resource_type, parent);
        if let Some(token) = continuation {
            request = request.header("x-ms-continuation", token);
        }
        let answer = client.send(&request).await?;
        let body = answer.json()?;
        // A server that speaks another protocol may answer 200 with other JSON.
        let page = body.get(array).as_array();
        found.extend_from_slice(page.ok_or_else(|| Error::Answer(format!("no {array} in it")))?);
        continuation = answer.text("x-ms-continuation").map(str::to_owned);
        if continuation.is_none() {
            return Ok(found);
        }
    }
}

/// The ids of resources.
fn ids(resources: &[Value]) -> Vec<String> {
    let ids = resources
        .iter()
        .filter_map(|resource| resource.get("id").as_str());
    ids.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        orrery_json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn offers_in_words() {
        for (content, expected) in [
            (r#"{"offerThroughput":400}"#, Some("400 RU/s")),
            (
                r#"{"offerThroughput":100,"offerAutopilotSettings":{"maxThroughput":1000}}"#,
                Some("autoscale, at most 1000 RU/s"),
            ),
            ("{}", None),
        ] {
            assert_eq!(offer_text(&json(content)).as_deref(), expected);
        }
    }

    #[test]
    fn a_container_has_its_key() {
        let read = |text: &str| Container::read(json(text));
        let container =
            read(r#"{"id":"c","_rid":"r","partitionKey":{"paths":["/a","/b/c"]}}"#).unwrap();
        assert_eq!(container.key_text(), "/a, /b/c");
        assert!(read(r#"{"id":"c"}"#).is_err());
    }
}
