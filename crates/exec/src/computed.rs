//! Properties that a container computes: `c.lower` is `SELECT VALUE LOWER(c.name) FROM c`.
//!
//! A query sees them as properties of the document wherever it names them, before stored
//! properties of the same name; `SELECT *` does not.

use orrery_sql::Query;
use orrery_sql::ast::{Collection, Projection, Source};

use crate::CompileError;
use crate::scalar::Scalar;
use crate::scope::{Container, Scope};

/// The computed properties of a container, compiled once for all queries.
#[derive(Debug, Clone, Default)]
pub struct ComputedProperties {
    properties: Vec<(String, Scalar)>,
}

impl ComputedProperties {
    /// One computed property does not see another.
    pub fn compile(definitions: &[(String, Query)]) -> Result<ComputedProperties, CompileError> {
        let properties = definitions
            .iter()
            .map(|(name, query)| Ok((name.clone(), compile(name, query)?)))
            .collect::<Result<_, CompileError>>()?;
        Ok(ComputedProperties { properties })
    }

    pub(crate) fn find(&self, name: &str) -> Option<Scalar> {
        self.properties
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| Scalar::OfDocument(Box::new(value.clone())))
    }
}

fn compile(name: &str, query: &Query) -> Result<Scalar, CompileError> {
    let refused = || CompileError::ComputedProperty {
        name: name.to_owned(),
    };
    let Projection::Value(value) = &query.select.projection else {
        return Err(refused());
    };
    let [
        Source::Value {
            collection: Collection::Path { root, steps },
            alias,
        },
    ] = query.from.as_slice()
    else {
        return Err(refused());
    };
    let has_clauses = query.select.distinct
        || query.select.top.is_some()
        || query.filter.is_some()
        || !query.group_by.is_empty()
        || query.order_by.is_some()
        || query.offset_limit.is_some();
    if has_clauses || !steps.is_empty() {
        return Err(refused());
    }
    let mut scope = Scope::new(Container::Named(root.name.clone()), &[]);
    let alias = alias.as_ref().unwrap_or(root);
    scope.bind(&alias.name, Scalar::Path(0, Vec::new()));
    scope.compile(value)
}
