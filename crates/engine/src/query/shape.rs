//! What a query is before its parameters have values: its text, read and checked once.
//!
//! Everything that the text and the definition of the container decide is here. What values decide
//! is redone for each set of them: which partition key the filter pins, what it says of paths, how
//! many rows are wanted. A text without parameters is bound once and for all.

use std::sync::Arc;

use orrery_exec::Template;
use orrery_json::Value;
use orrery_keys::{KeyDefinition, PartitionKey};
use orrery_model::{ContainerDefinition, Failure};
use orrery_plan::{PlanRequest, RangeKey, check, ranges};

use super::access::{Outline, Profile};
use super::{Bound, BuiltIn, QueryText, begin_at};
use super::{computed, fingerprint, parse, refuse, refuse_program};
use crate::order_rules;

pub(crate) struct Shape {
    template: Template,
    key: KeyDefinition,
    fingerprint: u64,
    /// What a profile says whatever the values are, if they decide nothing of it.
    outline: Option<Arc<Outline>>,
    /// Of a text without parameters.
    bound: Option<Arc<Bound>>,
}

impl Shape {
    /// Of a query over the items of a container that has these user-defined functions, with its
    /// first values.
    pub(crate) fn over_items(
        query: &QueryText,
        definition: &ContainerDefinition,
        functions: Vec<String>,
    ) -> Result<(Shape, Arc<Bound>), Failure> {
        let syntax = parse(&query.text)?;
        check(&syntax, &BuiltIn).map_err(refuse)?;
        order_rules::check_query(definition, &syntax)?;
        let fingerprint = fingerprint(&syntax, &query.text);
        let mut shape = Shape {
            template: Template::new(syntax, computed(definition)?, functions),
            key: definition.key().clone(),
            fingerprint,
            outline: None,
            bound: None,
        };
        let bound = shape.bind(query)?;
        if shape.template.is_shared() {
            shape.outline = Some(Arc::clone(&bound.profile.outline));
        }
        if !query.text.contains('@') && query.resume.is_none() {
            shape.bound = Some(Arc::clone(&bound));
        }
        Ok((shape, bound))
    }

    /// The query with values. Its text must be that of the shape.
    pub(crate) fn bind(&self, query: &QueryText) -> Result<Arc<Bound>, Failure> {
        if let (Some(bound), None) = (&self.bound, &query.resume) {
            return Ok(Arc::clone(bound));
        }
        let program = self.template.bind(&query.parameters);
        let program = program
            .and_then(|program| begin_at(program, query.resume.as_ref()))
            .map_err(|error| refuse_program(&error))?;
        Ok(Arc::new(Bound {
            profile: match &self.outline {
                Some(outline) => Profile::with_outline(&program, Arc::clone(outline)),
                None => Profile::of(&program),
            },
            program,
            pinned: self.pinned(&query.parameters),
            fingerprint: self.fingerprint,
        }))
    }

    /// The one partition key that every row must have, if the filter says so.
    fn pinned(&self, parameters: &[(String, Value)]) -> Option<PartitionKey> {
        let request = PlanRequest {
            query: self.template.query(),
            parameters,
            key: Some(&self.key),
            features: None,
            functions: &BuiltIn,
            vectors: &[],
        };
        let mut ranges = ranges(&request).into_iter();
        match (ranges.next()?.key, ranges.next()) {
            (RangeKey::Point(key), None) => Some(key),
            _ => None,
        }
    }
}
