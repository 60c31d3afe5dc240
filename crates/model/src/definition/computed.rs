//! Computed properties: named expressions that queries may use like stored properties.

use orrery_json::Value;

use super::fields::{DefinitionFields, invalid_input, list_unless_empty, object};
use crate::{Failure, limits};

/// A property that the server computes for each item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputedProperty {
    pub name: String,
    /// `SELECT VALUE … FROM c`. This module checks only the first words.
    pub query: String,
}

/// Property names that every item has already.
const TAKEN: [&str; 7] = [
    "id",
    "_rid",
    "_self",
    "_etag",
    "_attachments",
    "_ts",
    "_lsn",
];

pub(super) fn parse(body: &DefinitionFields<'_>) -> Result<Vec<ComputedProperty>, Failure> {
    let list = body.objects("computedProperties")?.unwrap_or_default();
    if list.len() > limits::COMPUTED_PROPERTIES_MAX {
        return Err(invalid_input(format!(
            "There are {} computed properties. A maximum of {} is allowed.",
            list.len(),
            limits::COMPUTED_PROPERTIES_MAX
        )));
    }
    let mut properties: Vec<ComputedProperty> = Vec::new();
    for fields in &list {
        let property = parse_property(fields)?;
        // The name in a query would be ambiguous.
        if properties.iter().any(|other| other.name == property.name) {
            return Err(invalid_input(format!(
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

fn parse_property(fields: &DefinitionFields<'_>) -> Result<ComputedProperty, Failure> {
    let name = fields.required_text("name")?;
    if name.is_empty() || TAKEN.contains(&name) {
        return Err(invalid_input(format!(
            "A computed property may not have the name '{name}'."
        )));
    }
    let query = fields.required_text("query")?;
    let mut words = query.split_whitespace().map(str::to_ascii_lowercase);
    // The rest of the query is not checked here.
    let selects_value = words.next().is_some_and(|word| word == "select")
        && words.next().is_some_and(|word| word.starts_with("value"));
    if !selects_value {
        return Err(invalid_input(format!(
            "The query of the computed property '{name}' must begin with SELECT VALUE."
        )));
    }
    Ok(ComputedProperty {
        name: name.to_owned(),
        query: query.to_owned(),
    })
}
