//! Which places of a document an indexing policy indexes.

use super::index_path::{IndexPath, IndexScope, IndexStep};
use super::indexing::{IndexingMode, IndexingPolicy};

/// One step on the way from the root of a document to a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlaceStep<'a> {
    Property(&'a str),
    /// Any element of an array.
    Element,
}

/// Indexed in consistent mode whatever the paths say.
const ALWAYS_INDEXED: [&str; 2] = ["id", "_ts"];

impl IndexingPolicy {
    /// Whether scalars at this place are in the index.
    ///
    /// The deepest matching path decides; of two as deep, `/?` goes before `/*`.
    pub fn covers(&self, place: &[PlaceStep<'_>]) -> bool {
        let best =
            |paths: &[IndexPath]| paths.iter().filter_map(|path| precision(path, place)).max();
        match (self.mode, place) {
            (IndexingMode::None, _) => false,
            (_, [PlaceStep::Property(name)]) if ALWAYS_INDEXED.contains(name) => true,
            (IndexingMode::Consistent, _) => best(&self.included) > best(&self.excluded),
        }
    }
}

/// How closely a path of the policy fits a place; none if it does not.
fn precision(path: &IndexPath, place: &[PlaceStep<'_>]) -> Option<usize> {
    let pattern = path.steps();
    let begins = |place: &[PlaceStep<'_>]| {
        place.len() >= pattern.len()
            && pattern
                .iter()
                .zip(place)
                .all(|(pattern, step)| match (pattern, step) {
                    (IndexStep::Property(pattern), PlaceStep::Property(name)) => pattern == name,
                    (IndexStep::Elements, PlaceStep::Element) => true,
                    (IndexStep::Property(_), PlaceStep::Element)
                    | (IndexStep::Elements, PlaceStep::Property(_)) => false,
                })
    };
    if !begins(place) {
        return None;
    }
    let rest = &place[pattern.len()..];
    match path.scope() {
        IndexScope::Scalar => rest.is_empty().then_some(2 * place.len() + 1),
        IndexScope::Subtree => Some(2 * pattern.len()),
        IndexScope::Tuple(members) => {
            let is = |member: &Vec<String>| {
                let names = member.iter().map(|name| PlaceStep::Property(name));
                rest.iter().copied().eq(names)
            };
            members.iter().any(is).then_some(2 * place.len() + 1)
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
        let covers = |place: &str| {
            let steps = place.split('/').map(|step| match step {
                "[]" => PlaceStep::Element,
                name => PlaceStep::Property(name),
            });
            definition.indexing.covers(&steps.collect::<Vec<_>>())
        };
        for place in covered {
            assert!(covers(place), "{place} in {indexing}");
        }
        for place in left_out {
            assert!(!covers(place), "{place} in {indexing}");
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
