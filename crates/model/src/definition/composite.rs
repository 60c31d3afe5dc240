//! Composite indexes: several properties sorted together.

use orrery_json::Value;

use super::fields::{
    DefinitionFields, invalid_input, list_unless_empty, object, objects_of, word_of,
};
use super::index_path::{Ending, IndexPath};
use crate::{Failure, limits};

/// One path of a composite index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompositePath {
    /// The path, written without an ending. It means the scalar at this path.
    pub path: IndexPath,
    pub order: SortOrder,
}

/// The direction in which an index sorts a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortOrder {
    Ascending,
    Descending,
}

const ORDERS: [(&str, SortOrder); 2] = [
    ("ascending", SortOrder::Ascending),
    ("descending", SortOrder::Descending),
];

pub(super) fn parse(policy: &DefinitionFields<'_>) -> Result<Vec<Vec<CompositePath>>, Failure> {
    const PROPERTY: &str = "compositeIndexes";
    let mut indexes = Vec::new();
    for (number, value) in policy
        .list(PROPERTY)?
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let path = format!("{}[{number}]", policy.name(PROPERTY));
        let list = value.as_array().ok_or_else(|| {
            invalid_input(format!(
                "'{path}' must be an array of paths, but its type is {}.",
                value.type_name()
            ))
        })?;
        let index: Vec<CompositePath> = objects_of(list, &path)?
            .iter()
            .map(parse_path)
            .collect::<Result<_, _>>()?;
        // An index of one path is allowed.
        if index.is_empty() || index.len() > limits::COMPOSITE_PROPERTIES_MAX {
            return Err(invalid_input(format!(
                "'{path}' has {} paths. A composite index has 1 to {}.",
                index.len(),
                limits::COMPOSITE_PROPERTIES_MAX
            )));
        }
        indexes.push(index);
    }
    let paths: usize = indexes.iter().map(Vec::len).sum();
    // The limit counts the paths of all indexes together.
    if paths > limits::COMPOSITE_PATHS_MAX {
        return Err(invalid_input(format!(
            "The composite indexes have {paths} paths in all. A maximum of {} is allowed.",
            limits::COMPOSITE_PATHS_MAX
        )));
    }
    Ok(indexes)
}

pub(super) fn to_value(indexes: &[Vec<CompositePath>]) -> Value {
    let path = |path: &CompositePath| {
        object([
            ("path", path.path.to_value()),
            ("order", word_of(&path.order, &ORDERS)),
        ])
    };
    list_unless_empty(
        indexes
            .iter()
            .map(|index| Value::Array(index.iter().map(path).collect())),
    )
}

fn parse_path(fields: &DefinitionFields<'_>) -> Result<CompositePath, Failure> {
    Ok(CompositePath {
        path: IndexPath::parse(fields.required_text("path")?, Ending::Implicit)?,
        order: fields
            .choice("order", &ORDERS)?
            .unwrap_or(SortOrder::Ascending),
    })
}
