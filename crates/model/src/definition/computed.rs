//! Computed properties: named expressions that queries may use like stored properties.

use orrery_json::Value;

use super::fields::{Fields, list_unless_empty, object, refused};
use crate::{Failure, limits};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputedProperty {
    pub name: String,
    /// `SELECT VALUE … FROM c`; only its first words are checked here.
    pub query: String,
}

/// Names that every item has of its own.
const TAKEN: [&str; 7] = [
    "id",
    "_rid",
    "_self",
    "_etag",
    "_attachments",
    "_ts",
    "_lsn",
];

pub(super) fn parse(body: &Fields<'_>) -> Result<Vec<ComputedProperty>, Failure> {
    let list = body.objects("computedProperties")?.unwrap_or_default();
    if list.len() > limits::COMPUTED_PROPERTIES_MAX {
        return Err(refused(format!(
            "There are {} computed properties. A maximum of {} is allowed.",
            list.len(),
            limits::COMPUTED_PROPERTIES_MAX
        )));
    }
    let mut properties: Vec<ComputedProperty> = Vec::new();
    for fields in &list {
        let property = parse_property(fields)?;
        if properties.iter().any(|other| other.name == property.name) {
            return Err(refused(format!(
                "The computed property '{}' is defined twice.",
                property.name
            )));
        }
        properties.push(property);
    }
    Ok(properties)
}

pub(super) fn to_value(properties: &[ComputedProperty]) -> Value {
    list_unless_empty(properties.iter().map(|property| {
        object([
            ("name", Value::from(property.name.as_str())),
            ("query", Value::from(property.query.as_str())),
        ])
    }))
}

fn parse_property(fields: &Fields<'_>) -> Result<ComputedProperty, Failure> {
    let name = fields.required_text("name")?;
    if name.is_empty() || TAKEN.contains(&name) {
        return Err(refused(format!(
            "A computed property may not have the name '{name}'."
        )));
    }
    let query = fields.required_text("query")?;
    let mut words = query.split_whitespace().map(str::to_ascii_lowercase);
    let selects_value = words.next().is_some_and(|word| word == "select")
        && words.next().is_some_and(|word| word.starts_with("value"));
    if !selects_value {
        return Err(refused(format!(
            "The query of the computed property '{name}' must begin with SELECT VALUE."
        )));
    }
    Ok(ComputedProperty {
        name: name.to_owned(),
        query: query.to_owned(),
    })
}
