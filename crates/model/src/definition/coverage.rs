//! Decides which paths of a document an indexing policy indexes.

use super::index_path::{IndexPath, IndexScope, IndexStep};
use super::indexing::{IndexingMode, IndexingPolicy};

/// One step of the path from the root of a document to a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentStep<'a> {
    Property(&'a str),
    /// Any element of an array.
    Element,
}

/// Properties that consistent mode always indexes, whatever the paths of the policy.
const ALWAYS_INDEXED: [&str; 2] = ["id", "_ts"];

impl IndexingPolicy {
    /// Whether the index contains the scalars at this path.
    ///
    /// The deepest matching path of the policy decides; of two paths with equal depth, `/?`
    /// precedes `/*`.
    pub fn covers(&self, steps: &[DocumentStep<'_>]) -> bool {
        let best =
            |paths: &[IndexPath]| paths.iter().filter_map(|path| precision(path, steps)).max();
        match (self.mode, steps) {
            (IndexingMode::None, _) => false,
            (_, [DocumentStep::Property(name)]) if ALWAYS_INDEXED.contains(name) => true,
            // The root is on one side, so at least one path matches. Of equal matches the exclusion
            // counts.
            (IndexingMode::Consistent, _) => best(&self.included) > best(&self.excluded),
        }
    }
}

/// How closely a path of the policy matches a document path, or None if it does not match.
fn precision(path: &IndexPath, steps: &[DocumentStep<'_>]) -> Option<usize> {
    let pattern = path.steps();
    // The steps of the path must be a prefix of the document path.
    let begins = |steps: &[DocumentStep<'_>]| {
        steps.len() >= pattern.len()
            && pattern
                .iter()
                .zip(steps)
                .all(|(pattern, step)| match (pattern, step) {
                    (IndexStep::Property(pattern), DocumentStep::Property(name)) => pattern == name,
                    (IndexStep::Elements, DocumentStep::Element) => true,
                    (IndexStep::Property(_), DocumentStep::Element)
                    | (IndexStep::Elements, DocumentStep::Property(_)) => false,
                })
    };
    if !begins(steps) {
        return None;
    }
    let rest = &steps[pattern.len()..];
    match path.scope() {
        // An exact match scores one more than a subtree of the same depth.
        IndexScope::Scalar => rest.is_empty().then_some(2 * steps.len() + 1),
        IndexScope::Subtree => Some(2 * pattern.len()),
        IndexScope::Tuple(members) => {
            let is = |member: &Vec<String>| {
                let names = member.iter().map(|name| DocumentStep::Property(name));
                rest.iter().copied().eq(names)
            };
            members.iter().any(is).then_some(2 * steps.len() + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;

    use super::*;
    use crate::ContainerDefinition;

    fn check(indexing: &str, covered: &[&str], left_out: &[&str]) {
        let body = format!(
            r#"{{"id":"c","partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{indexing}}}"#
        );
        let definition = ContainerDefinition::parse(&parse(body.as_bytes()).unwrap()).unwrap();
        let covers = |path: &str| {
            let steps = path.split('/').map(|step| match step {
                "[]" => DocumentStep::Element,
                name => DocumentStep::Property(name),
            });
            definition.indexing.covers(&steps.collect::<Vec<_>>())
        };
        for path in covered {
            assert!(covers(path), "{path} in {indexing}");
        }
        for path in left_out {
            assert!(!covers(path), "{path} in {indexing}");
        }
    }

    #[test]
    fn the_deeper_path_decides() {
        check("{}", &["a", "a/b", "a/[]", "a/[]/b"], &["_etag"]);
        check(
            r#"{"includedPaths":[{"path":"/*"},{"path":"/a/b/?"}],"excludedPaths":[{"path":"/a/*"}]}"#,
            &["a/b", "d", "id"],
            &["a", "a/c", "a/b/c"],
        );
        check(
            r#"{"includedPaths":[{"path":"/t/[]/?"},{"path":"/e/[]/{x, y}/?"}],"excludedPaths":[{"path":"/*"}]}"#,
            &["t/[]", "e/[]/x", "e/[]/y", "id", "_ts"],
            &["t", "e/[]/z", "d"],
        );
        check(r#"{"indexingMode":"none"}"#, &[], &["a", "id"]);
    }
}
