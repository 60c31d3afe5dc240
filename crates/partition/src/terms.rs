//! Index terms of a document: one for each indexed scalar, as path and value.
//!
//! They are counted for charges. Each term is held as a hash; two sets are compared to find what a
//! replace changes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use orrery_json::{Value, write_value};
use orrery_model::{IndexingMode, IndexingPolicy, PlaceStep};

/// The terms of one document under one policy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms(HashSet<u64>);

impl Terms {
    pub(crate) fn of(policy: &IndexingPolicy, document: &Value) -> Terms {
        let mut terms = Terms::default();
        if policy.mode == IndexingMode::Consistent {
            let mut walk = Walk {
                policy,
                place: Vec::new(),
                terms: &mut terms,
            };
            walk.value(document);
        }
        terms
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many terms are in one of the two sets only.
    pub(crate) fn difference(&self, other: &Terms) -> usize {
        self.0.symmetric_difference(&other.0).count()
    }
}

struct Walk<'a, 'b> {
    policy: &'b IndexingPolicy,
    place: Vec<PlaceStep<'a>>,
    terms: &'b mut Terms,
}

impl<'a> Walk<'a, '_> {
    fn value(&mut self, value: &'a Value) {
        match value {
            Value::Object(object) => {
                for (name, property) in object {
                    self.place.push(PlaceStep::Property(name));
                    self.value(property);
                    self.place.pop();
                }
            }
            Value::Array(array) => {
                for element in array {
                    self.place.push(PlaceStep::Element);
                    self.value(element);
                    self.place.pop();
                }
            }
            Value::Undefined
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {
                if self.policy.covers(&self.place) {
                    let mut hasher = DefaultHasher::new();
                    self.place.hash(&mut hasher);
                    let mut text = Vec::new();
                    write_value(value, &mut text);
                    text.hash(&mut hasher);
                    self.terms.0.insert(hasher.finish());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orrery_json::parse;
    use orrery_model::ContainerDefinition;

    fn policy(indexing: &str) -> IndexingPolicy {
        let body = format!(
            r#"{{"id":"c","partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{indexing}}}"#
        );
        ContainerDefinition::parse(&parse(body.as_bytes()).unwrap())
            .unwrap()
            .indexing
    }

    fn count(indexing: &str, document: &str) -> usize {
        Terms::of(&policy(indexing), &parse(document.as_bytes()).unwrap()).len()
    }

    #[test]
    fn every_scalar_is_a_term_by_default() {
        let all = r#"{"includedPaths":[{"path":"/*"}]}"#;
        assert_eq!(
            count(all, r#"{"id":"x","a":[1,2,1],"b":{"c":null},"d":{}}"#),
            4
        );
    }

    #[test]
    fn the_deeper_path_decides() {
        let some = r#"{"includedPaths":[{"path":"/*"},{"path":"/a/b/?"}],"excludedPaths":[{"path":"/a/*"}]}"#;
        assert_eq!(count(some, r#"{"a":{"b":1,"c":2},"d":3}"#), 2);
        let few = r#"{"includedPaths":[{"path":"/t/[]/?"}],"excludedPaths":[{"path":"/*"}]}"#;
        assert_eq!(count(few, r#"{"t":[1,2],"d":3}"#), 2);
        assert_eq!(count(r#"{"indexingMode":"none"}"#, r#"{"a":1}"#), 0);
    }

    #[test]
    fn a_difference_counts_both_sides() {
        let policy = policy(r#"{"includedPaths":[{"path":"/*"}]}"#);
        let of = |text: &str| Terms::of(&policy, &parse(text.as_bytes()).unwrap());
        assert_eq!(
            of(r#"{"a":1,"b":2,"c":3}"#).difference(&of(r#"{"a":1,"b":5,"c":6}"#)),
            4
        );
    }
}
