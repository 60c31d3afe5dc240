//! The seed file as types.

use anyhow::{Context, Result, anyhow, bail};
use orrery_json::{Object, Value};
use orrery_model::{ContainerDefinition, Document, Throughput};

#[derive(Debug)]
pub(super) struct Seed {
    pub(super) databases: Vec<SeedDatabase>,
}

#[derive(Debug)]
pub(super) struct SeedDatabase {
    pub(super) id: String,
    pub(super) throughput: Option<Throughput>,
    pub(super) containers: Vec<SeedContainer>,
}

#[derive(Debug)]
pub(super) struct SeedContainer {
    pub(super) definition: ContainerDefinition,
    pub(super) throughput: Option<Throughput>,
    pub(super) items: Vec<Document>,
}

/// Version of the hashing that new containers use, written out for the short form of a key.
const KEY_VERSION: i64 = 2;

pub(super) fn parse(text: &[u8]) -> Result<Seed> {
    let value = orrery_json::parse(text).map_err(|error| anyhow!("not JSON: {error}"))?;
    let mut fields = object(value)?;
    let databases = list(&mut fields, "databases", parse_database)?;
    nothing_else(&fields)?;
    Ok(Seed { databases })
}

fn parse_database(value: Value) -> Result<SeedDatabase> {
    let mut fields = object(value)?;
    let Some(Value::String(id)) = fields.shift_remove("id") else {
        bail!("'id' must be a string");
    };
    let throughput = take_throughput(&mut fields)?;
    let containers = list(&mut fields, "containers", parse_container)
        .with_context(|| format!("database '{id}'"))?;
    nothing_else(&fields).with_context(|| format!("database '{id}'"))?;
    Ok(SeedDatabase {
        id,
        throughput,
        containers,
    })
}

fn parse_container(value: Value) -> Result<SeedContainer> {
    let mut fields = object(value)?;
    let name = fields
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut parse = || -> Result<SeedContainer> {
        let items = list(&mut fields, "items", |item| Ok(Document::from_value(item)?))?;
        let throughput = take_throughput(&mut fields)?;
        // The short form is expanded first, so that the parser sees one form only.
        if let Some(Value::String(path)) = fields.get("partitionKey") {
            let key = partition_key(path);
            fields.insert("partitionKey".to_owned(), key);
        }
        // The fields left after `items` and the throughput are the container definition itself.
        let definition =
            ContainerDefinition::parse_new(&Value::Object(std::mem::take(&mut fields)))?;
        Ok(SeedContainer {
            definition,
            throughput,
            items,
        })
    };
    parse().with_context(|| format!("container '{name}'"))
}

/// The long form of `"partitionKey": "/path"`.
fn partition_key(path: &str) -> Value {
    let paths = Value::Array(vec![Value::from(path)]);
    let key = [
        ("paths", paths),
        ("kind", Value::from("Hash")),
        ("version", Value::from(KEY_VERSION)),
    ];
    Value::Object(
        key.into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

fn take_throughput(fields: &mut Object) -> Result<Option<Throughput>> {
    let mut take = |name: &str| match fields.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => whole(&value)
            .map(Some)
            .ok_or_else(|| anyhow!("'{name}' must be a whole number of request units")),
    };
    Ok(
        match (take("throughput")?, take("autoscaleMaxThroughput")?) {
            (None, None) => None,
            (Some(units), None) => Some(Throughput::manual(units)?),
            (None, Some(max)) => Some(Throughput::autoscale(max, None)?),
            (Some(_), Some(_)) => bail!("use 'throughput' or 'autoscaleMaxThroughput', not both"),
        },
    )
}

fn whole(value: &Value) -> Option<i64> {
    value.as_number()?.as_i64()
}

fn object(value: Value) -> Result<Object> {
    match value {
        Value::Object(object) => Ok(object),
        other => bail!("must be an object, not {other}"),
    }
}

/// Takes an optional list from the fields. The error of a wrong entry names its list and its index.
fn list<T>(
    fields: &mut Object,
    name: &str,
    mut entry: impl FnMut(Value) -> Result<T>,
) -> Result<Vec<T>> {
    let values = match fields.shift_remove(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(values)) => values,
        Some(_) => bail!("'{name}' must be a list"),
    };
    let entries = values.into_iter().enumerate();
    entries
        .map(|(index, value)| entry(value).with_context(|| format!("{name}[{index}]")))
        .collect()
}

fn nothing_else(fields: &Object) -> Result<()> {
    match fields.keys().next() {
        Some(name) => bail!("'{name}' is not known here"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file() {
        let seed = parse(
            br#"{"databases":[
                {"id":"empty"},
                {"id":"db","throughput":400,"containers":[
                    {"id":"c","partitionKey":{"paths":["/a"],"kind":"Hash","version":2},
                     "defaultTtl":60,"autoscaleMaxThroughput":4000,"items":[{"id":"1","a":2}]},
                    {"id":"d","partitionKey":"/b"}]}]}"#,
        );
        let [empty, db] = &seed.unwrap().databases[..] else {
            panic!("not two databases")
        };
        assert!(empty.containers.is_empty() && empty.throughput.is_none());
        assert_eq!(db.throughput, Some(Throughput::Manual(400)));
        let [c, d] = &db.containers[..] else {
            panic!("not two containers")
        };
        assert_eq!(c.definition.default_ttl, Some(60));
        assert_eq!(c.throughput.unwrap().max(), 4000);
        assert_eq!(c.items[0].id(), "1");
        let long = ContainerDefinition::parse(
            &orrery_json::parse(
                br#"{"id":"d","partitionKey":{"paths":["/b"],"kind":"Hash","version":2}}"#,
            )
            .unwrap(),
        );
        assert_eq!(d.definition, long.unwrap());
    }

    #[test]
    fn mistakes_name_their_place() {
        for (text, phrases) in [
            ("[]", &["must be an object"][..]),
            ("{", &["not JSON"]),
            (r#"{"database":[]}"#, &["'database' is not known"]),
            (r#"{"databases":{}}"#, &["'databases' must be a list"]),
            (r#"{"databases":[{}]}"#, &["databases[0]", "'id'"]),
            (
                r#"{"databases":[{"id":"db","items":[]}]}"#,
                &["'db'", "'items'"],
            ),
            (
                r#"{"databases":[{"id":"db","throughput":1.5}]}"#,
                &["'throughput'"],
            ),
            (
                r#"{"databases":[{"id":"db","containers":[{"id":"c"}]}]}"#,
                &["database 'db'", "container 'c'", "partitionKey"],
            ),
            (
                r#"{"databases":[{"id":"db","containers":[{"id":"c","partitionKey":"/a",
                    "items":[{"id":"1"},{"a":1,"id":7}]}]}]}"#,
                &["database 'db'", "container 'c'", "items[1]"],
            ),
        ] {
            let error = format!("{:#}", parse(text.as_bytes()).unwrap_err());
            assert!(
                phrases.iter().all(|phrase| error.contains(phrase)),
                "{text}: {error}"
            );
        }
    }
}
