//! The index metrics of queries.

use orrery_exec::Predicate;

use super::container::{Container, sargable_filter};
use super::predicates::{above, and, is, or, path};
use crate::access::{AccessRequest, IndexUsage, OrderTerm, QueryShape};

const POLICY: &str = r#"{
    "includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/x/?"}],
    "compositeIndexes":[[{"path":"/a"},{"path":"/b","order":"descending"}]]}"#;

fn usage(predicate: Predicate, order: &[(&str, bool)]) -> IndexUsage {
    let container = Container::new(POLICY, []);
    let narrowing = sargable_filter(predicate);
    let order: Vec<OrderTerm> = order
        .iter()
        .map(|(at, descending)| OrderTerm {
            path: path(at),
            descending: *descending,
        })
        .collect();
    IndexUsage::of(&AccessRequest {
        shape: QueryShape::Sorted,
        order: &order,
        ..container.request(&narrowing)
    })
}

#[test]
fn single_paths() {
    for (predicate, utilized, potential) in [
        (Predicate::Anything, &[][..], &[][..]),
        (is("a", 1), &["/a/?"], &[]),
        (is("my prop", 1), &["/\"my prop\"/?"], &[]),
        (is("x", 1), &[], &["/x/?"]),
        (and([is("a", 1), is("x", 1)]), &["/a/?"], &["/x/?"]),
        (
            or([is("a", 1), above("c/[]", 1), is("a", 2)]),
            &["/a/?", "/c/[]/?"],
            &[],
        ),
    ] {
        let usage = usage(predicate.clone(), &[]);
        assert_eq!(usage.utilized_single, utilized, "{predicate:?}");
        assert_eq!(usage.potential_single, potential, "{predicate:?}");
    }
}

#[test]
fn composite_indexes() {
    let has = ["/a ASC", "/b DESC"];
    for (predicate, order, utilized, potential) in [
        (is("a", 1), &[][..], None, None),
        (and([is("a", 1), is("b", 1)]), &[], Some(&has[..]), None),
        (and([above("b", 1), is("a", 1)]), &[], Some(&has), None),
        (
            and([above("a", 1), is("b", 1)]),
            &[],
            None,
            Some(&["/b ASC", "/a ASC"][..]),
        ),
        (and([above("a", 1), above("c", 1)]), &[], None, None),
        (
            Predicate::Anything,
            &[("a", true), ("b", false)],
            Some(&has),
            None,
        ),
        (
            Predicate::Anything,
            &[("a", true), ("b", true)],
            None,
            Some(&["/a DESC", "/b DESC"]),
        ),
        (is("a", 1), &[("b", false)], Some(&has), None),
        (
            is("c", 1),
            &[("b", false)],
            None,
            Some(&["/c ASC", "/b ASC"]),
        ),
    ] {
        let usage = usage(predicate.clone(), order);
        let lists = |list: Option<&[&str]>| -> Vec<Vec<String>> {
            let owned = |list: &[&str]| list.iter().map(|&spec| spec.to_owned()).collect();
            list.map(owned).into_iter().collect()
        };
        assert_eq!(usage.utilized_composite, lists(utilized), "{predicate:?}");
        assert_eq!(usage.potential_composite, lists(potential), "{predicate:?}");
    }
}
