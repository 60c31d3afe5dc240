//! The names of the account for completion. They are read when they are first needed, and then
//! cached.

use std::collections::{BTreeMap, BTreeSet};

use hyper::Method;
use orrery_client::Request;
use orrery_json::Value;

use crate::account;
use crate::error::Error;
use crate::session::ShellSession;

/// The number of items that are read to learn the properties of a container.
const SAMPLE_ITEMS: usize = 50;
/// The depth of properties beyond which none are offered.
const DEPTH_MAX: usize = 6;

/// A cache of account names for completion.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    pub(super) databases: Option<Vec<String>>,
    /// The containers of each database.
    pub(super) containers: BTreeMap<String, Vec<String>>,
    /// The properties of the container with this link: names by the path to them, `a.b`.
    pub(super) properties: Option<(String, Properties)>,
    /// The database and the container in use.
    pub(super) database: Option<String>,
    pub(super) container: Option<String>,
}

/// Property names by the path of the containing object.
pub(super) type Properties = BTreeMap<String, BTreeSet<String>>;

/// The kind of names that a completion needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Names {
    None,
    Databases,
    /// The containers of this database, or of the database in use.
    Containers(Option<String>),
    Properties,
}

impl Vocabulary {
    /// Discards all names.
    pub(super) fn forget(&mut self) {
        *self = Vocabulary::default();
    }

    /// Reads the names that a completion needs, unless they are cached.
    pub(super) async fn learn(
        &mut self,
        session: &mut ShellSession,
        names: &Names,
    ) -> Result<(), Error> {
        // The container in use may change between two completions.
        self.database.clone_from(&session.database);
        self.container.clone_from(&session.container);
        match names {
            Names::None => {}
            Names::Databases => {
                if self.databases.is_none() {
                    // The empty list stays after a failure, so that a server that does not answer
                    // is asked once for each statement.
                    self.databases = Some(Vec::new());
                    self.databases = Some(account::databases(&mut session.client).await?);
                }
            }
            Names::Containers(database) => {
                let Some(database) = database.as_ref().or(session.database.as_ref()) else {
                    return Ok(());
                };
                if !self.containers.contains_key(database) {
                    let database = database.clone();
                    // As above: the empty list stays after a failure.
                    self.containers.insert(database.clone(), Vec::new());
                    let found = account::containers(&mut session.client, &database).await?;
                    let names = found.into_iter().map(|container| container.id);
                    self.containers.insert(database, names.collect());
                }
            }
            Names::Properties => {
                let link = session.link()?;
                if self
                    .properties
                    .as_ref()
                    .is_none_or(|(known, _)| *known != link)
                {
                    // As above: the empty entry stays after a failure.
                    self.properties = Some((link.clone(), Properties::new()));
                    let found = sample(session, &link).await?;
                    self.properties = Some((link, found));
                }
            }
        }
        Ok(())
    }
}

/// Reads the first items of a container and collects their properties. One page is enough for
/// names.
async fn sample(session: &mut ShellSession, link: &str) -> Result<Properties, Error> {
    let request = Request::feed(Method::GET, "docs", link)
        .header("x-ms-max-item-count", SAMPLE_ITEMS.to_string());
    let body = session.client.send(&request).await?.json()?;
    let mut properties = Properties::new();
    for item in body.get("Documents").as_array().unwrap_or_default() {
        gather(item, "", 0, &mut properties);
    }
    Ok(properties)
}

/// Collects the properties of a value. Elements of an array have the path of the array.
fn gather(value: &Value, path: &str, depth: usize, properties: &mut Properties) {
    // Items from elsewhere may be nested deeply.
    if depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let names = properties.entry(path.to_owned()).or_default();
                names.insert(name.clone());
                let inner = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                gather(value, &inner, depth + 1, properties);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                gather(element, path, depth + 1, properties);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
pub(super) fn properties_of(item: &str) -> Properties {
    let mut properties = Properties::new();
    let item = orrery_json::parse(item.as_bytes()).unwrap();
    gather(&item, "", 0, &mut properties);
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_known_by_their_path() {
        let found = properties_of(r#"{"id":"1","a":{"b":1},"tags":[{"name":"x"},{"n":[]}]}"#);
        let names = |path: &str| -> Vec<&str> { found[path].iter().map(String::as_str).collect() };
        assert_eq!(names(""), ["a", "id", "tags"]);
        assert_eq!(names("a"), ["b"]);
        assert_eq!(names("tags"), ["n", "name"]);
    }
}
