//! Computed properties of a container: `c.lower` is `SELECT VALUE LOWER(c.name) FROM c`.
//!
//! A query sees a computed property wherever it names the property, in preference to a stored
//! property of the same name. `SELECT *` does not return computed properties.

use orrery_sql::Query;
use orrery_sql::ast::{Collection, FromSource, Projection};

use crate::CompileError;
use crate::scalar::Scalar;
use crate::scope::{ContainerName, Scope};

/// The computed properties of a container, compiled once for all queries.
#[derive(Debug, Clone, Default)]
pub struct ComputedProperties {
    properties: Vec<(String, Scalar)>,
}

impl ComputedProperties {
    /// Compiles the definitions. A computed property cannot use another one.
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
            .map(|(_, value)| Scalar::ComputedProperty(Box::new(value.clone())))
    }
}

/// Compiles one definition: `SELECT VALUE` of an expression over the container, without further
/// clauses.
fn compile(name: &str, query: &Query) -> Result<Scalar, CompileError> {
    let refused = || CompileError::ComputedProperty {
        name: name.to_owned(),
    };
    let Projection::Value(value) = &query.select.projection else {
        return Err(refused());
    };
    let [
        FromSource::Value {
            collection: Collection::Path { root, steps },
            alias,
        },
    ] = query.from.as_slice()
    else {
        return Err(refused());
    };
    // The value must be one expression of one document, so every other clause is refused.
    let has_clauses = query.select.distinct
        || query.select.top.is_some()
        || query.filter.is_some()
        || !query.group_by.is_empty()
        || query.order_by.is_some()
        || query.offset_limit.is_some();
    if has_clauses || !steps.is_empty() {
        return Err(refused());
    }
    // The scope has no computed properties, so a definition cannot refer to another.
    let mut scope = Scope::new(ContainerName::Named(root.name.clone()), &[]);
    let alias = alias.as_ref().unwrap_or(root);
    scope.bind(&alias.name, Scalar::Path(0, Vec::new()));
    scope.compile(value)
}
