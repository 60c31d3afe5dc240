//! The automaton agrees with its policy, and an intersection agrees with both of its policies.

use std::collections::BTreeSet;

use orrery_exec::{DocumentPath, PathStep};
use orrery_json::parse;
use orrery_model::{ContainerDefinition, DocumentStep, IndexingPolicy};
use proptest::prelude::*;

use crate::{IndexDefinition, IndexHash};

fn try_policy(indexing: &str) -> Option<IndexingPolicy> {
    let body =
        format!(r#"{{"id":"c","partitionKey":{{"paths":["/pk"]}},"indexingPolicy":{indexing}}}"#);
    let definition = ContainerDefinition::parse(&parse(body.as_bytes()).unwrap()).ok()?;
    Some(definition.indexing)
}

pub(crate) fn policy(indexing: &str) -> IndexingPolicy {
    try_policy(indexing).unwrap()
}

fn step() -> impl Strategy<Value = PathStep> {
    prop_oneof![
        4 => proptest::sample::select(vec!["a", "b", "id", "_ts", "_etag"])
            .prop_map(|name| PathStep::Name(name.to_owned())),
        1 => Just(PathStep::Element),
    ]
}

fn path() -> impl Strategy<Value = DocumentPath> {
    proptest::collection::vec(step(), 0..5).prop_map(DocumentPath)
}

/// A path of a policy, which happens to be valid.
fn index_path() -> impl Strategy<Value = String> {
    let endings = vec!["/?", "/*", "/*", "/{a, b}/?", "/{a/b, id}/?"];
    (
        proptest::collection::vec(step(), 0..4),
        proptest::sample::select(endings),
    )
        .prop_map(|(steps, ending)| {
            let step = |step: &PathStep| match step {
                PathStep::Name(name) => format!("/{name}"),
                PathStep::Element => "/[]".to_owned(),
            };
            let steps: String = steps.iter().map(step).collect();
            steps + ending
        })
}

fn any_policy() -> impl Strategy<Value = IndexingPolicy> {
    let paths = || proptest::collection::vec(index_path(), 0..5);
    let policy = (any::<bool>(), paths(), paths(), paths());
    policy.prop_map(|(is_root_included, included, excluded, spatial)| {
        // The policy combines only paths that are valid individually, so that few policies are
        // rejected.
        let is_valid = |path: &&String| {
            let single = format!(
                r#"{{"includedPaths":[{{"path":"/*"}}],"excludedPaths":[{{"path":"{path}"}}]}}"#
            );
            try_policy(&single).is_some()
        };
        let root = "/*".to_owned();
        let mut included: BTreeSet<&String> = included.iter().filter(is_valid).collect();
        let mut excluded: BTreeSet<&String> = excluded.iter().filter(is_valid).collect();
        if is_root_included {
            included.insert(&root);
        } else {
            excluded.insert(&root);
        }
        excluded.retain(|path| !included.contains(*path));
        let list = |paths: &mut dyn Iterator<Item = &&String>| {
            let entry = |path: &&String| format!(r#"{{"path":"{path}"}}"#);
            paths.map(entry).collect::<Vec<_>>().join(",")
        };
        let spatial = spatial
            .iter()
            .filter(is_valid)
            .map(|path| format!(r#"{{"path":"{path}","types":["Point"]}}"#))
            .collect::<Vec<_>>()
            .join(",");
        policy_of(
            &list(&mut included.iter()),
            &list(&mut excluded.iter()),
            &spatial,
        )
    })
}

fn policy_of(included: &str, excluded: &str, spatial: &str) -> IndexingPolicy {
    policy(&format!(
        r#"{{"includedPaths":[{included}],"excludedPaths":[{excluded}],"spatialIndexes":[{spatial}]}}"#
    ))
}

/// The answer of the policy, except for the system properties that documents lack when they are
/// indexed.
fn covers(policy: &IndexingPolicy, path: &DocumentPath) -> bool {
    if matches!(path.0.first(), Some(PathStep::Name(name)) if name == "_etag") {
        return false;
    }
    let path: Vec<DocumentStep<'_>> = path
        .0
        .iter()
        .map(|step| match step {
            PathStep::Name(name) => DocumentStep::Property(name),
            PathStep::Element => DocumentStep::Element,
        })
        .collect();
    policy.covers(&path)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn paths_are_covered_as_the_policy_says(
        policy in any_policy(),
        paths in proptest::collection::vec(path(), 20),
    ) {
        let definition = IndexDefinition::new(&policy);
        for path in &paths {
            prop_assert_eq!(definition.covers(path), covers(&policy, path), "{:?}", path);
        }
    }

    #[test]
    fn an_intersection_has_what_both_have(
        a in any_policy(),
        b in any_policy(),
        paths in proptest::collection::vec(path(), 20),
    ) {
        let (a, b) = (IndexDefinition::new(&a), IndexDefinition::new(&b));
        let both = IndexDefinition::intersection(&a, &b);
        for path in &paths {
            prop_assert_eq!(both.covers(path), a.covers(path) && b.covers(path));
            let is_spatial = |definition: &IndexDefinition| definition.spatial(path).is_some();
            prop_assert_eq!(is_spatial(&both), is_spatial(&a) && is_spatial(&b));
        }
    }
}

#[test]
fn mode_none_indexes_nothing() {
    let nothing = IndexDefinition::new(&policy(r#"{"indexingMode":"none"}"#));
    let all = IndexDefinition::new(&policy("{}"));
    let id = DocumentPath(vec![PathStep::Name("id".to_owned())]);
    assert!(nothing.is_nothing() && !nothing.covers(&id));
    assert!(IndexDefinition::intersection(&nothing, &all).is_nothing());
    let document = parse(br#"{"id":"x"}"#).unwrap();
    assert!(nothing.entries(1, &document, b"p").is_empty());
}

#[test]
fn composites_that_both_have_stay() {
    let with = |paths: &str| {
        IndexDefinition::new(&policy(&format!(r#"{{"compositeIndexes":[{paths}]}}"#)))
    };
    let one = r#"[{"path":"/a"},{"path":"/b","order":"descending"}]"#;
    let other = r#"[{"path":"/a"},{"path":"/b"}]"#;
    let hashes = |definition: &IndexDefinition| -> Vec<IndexHash> {
        definition.composites().map(|(hash, _)| hash).collect()
    };
    let both = with(&format!("{one},{other}"));
    assert_eq!(hashes(&both).len(), 2);
    let left = IndexDefinition::intersection(&both, &with(one));
    assert_eq!(hashes(&left), hashes(&with(one)));
    assert_eq!(hashes(&with(&format!("{one},{one}"))).len(), 1);
}

#[test]
fn spatial_indexes_by_path() {
    let definition = IndexDefinition::new(&policy(
        r#"{"spatialIndexes":[{"path":"/a/*","types":["Point"]},{"path":"/b/[]/c/?","types":["Point"]}]}"#,
    ));
    let name = |name: &str| PathStep::Name(name.to_owned());
    for (steps, expected) in [
        (vec![name("a")], true),
        (vec![name("a"), name("b")], true),
        (vec![name("b"), PathStep::Element, name("c")], true),
        (vec![name("b"), name("c")], false),
        (vec![name("c")], false),
    ] {
        let path = DocumentPath(steps);
        assert_eq!(definition.spatial(&path).is_some(), expected, "{path:?}");
    }
}
