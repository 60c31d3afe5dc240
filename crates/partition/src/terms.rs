//! Index terms of a document: one for each indexed scalar, as path and value.
//!
//! They are counted for charges. Each term is held as a hash; two sets are compared to find what a
//! replace changes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use orrery_json::{Value, write_value};
use orrery_model::{IndexPath, IndexScope, IndexStep, IndexingMode, IndexingPolicy};

/// The terms of one document under one policy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms(HashSet<u64>);

impl Terms {
    pub(crate) fn of(policy: &IndexingPolicy, document: &Value) -> Terms {
        let mut terms = Terms::default();
        if policy.mode == IndexingMode::Consistent {
            let mut walk = Walk {
                policy,
                steps: Vec::new(),
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

#[derive(Clone, Copy, PartialEq, Hash)]
enum Step<'a> {
    Property(&'a str),
    Element,
}

struct Walk<'a, 'b> {
    policy: &'b IndexingPolicy,
    steps: Vec<Step<'a>>,
    terms: &'b mut Terms,
}

impl<'a> Walk<'a, '_> {
    fn value(&mut self, value: &'a Value) {
        match value {
            Value::Object(object) => {
                for (name, property) in object {
                    self.steps.push(Step::Property(name));
                    self.value(property);
                    self.steps.pop();
                }
            }
            Value::Array(array) => {
                for element in array {
                    self.steps.push(Step::Element);
                    self.value(element);
                    self.steps.pop();
                }
            }
            Value::Undefined
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {
                if is_indexed(self.policy, &self.steps) {
                    let mut hasher = DefaultHasher::new();
                    self.steps.hash(&mut hasher);
                    let mut text = Vec::new();
                    write_value(value, &mut text);
                    text.hash(&mut hasher);
                    self.terms.0.insert(hasher.finish());
                }
            }
        }
    }
}

/// The deepest matching path decides; of two as deep, `/?` goes before `/*`.
fn is_indexed(policy: &IndexingPolicy, steps: &[Step<'_>]) -> bool {
    let best = |paths: &[IndexPath]| paths.iter().filter_map(|path| precision(path, steps)).max();
    best(&policy.included) > best(&policy.excluded)
}

/// How closely a policy path fits a scalar's place; none if it does not.
fn precision(path: &IndexPath, steps: &[Step<'_>]) -> Option<usize> {
    let pattern = path.steps();
    let fits = |steps: &[Step<'_>]| {
        pattern.len() == steps.len()
            && pattern
                .iter()
                .zip(steps)
                .all(|(pattern, step)| match (pattern, step) {
                    (IndexStep::Property(pattern), Step::Property(name)) => pattern == name,
                    (IndexStep::Elements, Step::Element) => true,
                    (IndexStep::Property(_), Step::Element)
                    | (IndexStep::Elements, Step::Property(_)) => false,
                })
    };
    match path.scope() {
        IndexScope::Scalar => fits(steps).then_some(2 * pattern.len() + 1),
        IndexScope::Subtree => {
            (steps.len() >= pattern.len() && fits(&steps[..pattern.len()])).then_some(2 * pattern.len())
        }
        IndexScope::Tuple(members) => members
            .iter()
            .any(|member| {
                steps.len() == pattern.len() + member.len()
                    && fits(&steps[..pattern.len()])
                    && member.iter().zip(&steps[pattern.len()..]).all(
                        |(name, step)| matches!(step, Step::Property(found) if *found == name.as_str()),
                    )
            })
            .then_some(2 * steps.len() + 1),
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
