//! The chosen plan for each query, as an explain tree.

use orrery_exec::{Predicate, SargableFilter, SpatialRelation, ValueRange};
use orrery_json::parse;

use super::container::{Container, EVERYTHING, sargable_filter};
use super::predicates::{above, and, below, defined, is, is_in, or, path, value};
use crate::access::{
    AccessKind, AccessPath, AccessRequest, AccessTag, MinMax, OrderTerm, QueryShape, plan_access,
    resume_access,
};
use crate::{IndexDefinition, IndexHash};

const ORDERED: &str = r#"{"compositeIndexes":[
    [{"path":"/a"},{"path":"/c","order":"descending"}],
    [{"path":"/a"},{"path":"/b"},{"path":"/c"}]]}"#;

/// A thousand documents: `a` has 10 values, `b` 100, `c` and `s` 1,000; every other document has
/// `o`.
fn thousand(policy: &str) -> Container {
    let documents = (0..1000).map(|n| {
        let odd = if n % 2 == 0 {
            format!(r#","o":{n}"#)
        } else {
            String::new()
        };
        let text = format!(
            r#"{{"a":{},"b":{},"c":{n},"s":"text {n:04}","t":[{n},{}],
                "p":{{"type":"Point","coordinates":[{},{}]}}{odd}}}"#,
            n % 10,
            n % 100,
            n + 1,
            n % 100,
            n % 50,
        );
        parse(text.as_bytes()).unwrap()
    });
    Container::new(policy, documents)
}

fn tree(request: &AccessRequest<'_>) -> String {
    plan_access(request).root.lines().join("\n")
}

#[track_caller]
fn check(container: &Container, table: Vec<(Predicate, &str)>) {
    check_with(container, |request| request, table);
}

/// `change` modifies a stream query.
#[track_caller]
fn check_with<'a>(
    container: &'a Container,
    change: impl Fn(AccessRequest<'a>) -> AccessRequest<'a>,
    table: Vec<(Predicate, &str)>,
) {
    for (predicate, expected) in table {
        let narrowing: &SargableFilter = Box::leak(Box::new(sargable_filter(predicate)));
        let request = change(container.request(narrowing));
        assert_eq!(tree(&request), expected, "{:?}", narrowing.predicate);
    }
}

fn ascending(at: &str) -> OrderTerm {
    OrderTerm {
        path: path(at),
        descending: false,
    }
}

fn descending(at: &str) -> OrderTerm {
    OrderTerm {
        path: path(at),
        descending: true,
    }
}

#[test]
fn one_value() {
    check(
        &thousand(EVERYTHING),
        vec![
            (is("b", 7), "point /b/? = 7 (entries 10, documents 10)"),
            (is("b", 700), "point /b/? = 700 (documents 0)"),
            (is("t/[]", 7), "point /t/[]/? = 7 (entries 2, documents 2)"),
            (
                is("s", "text 0003"),
                "point /s/? = \"text 0003\" (entries 1, documents 1)",
            ),
            (and([is("b", 7), is("b", 8)]), "nothing (documents 0)"),
            (
                and([is("b", 7), above("b", 3)]),
                "point /b/? = 7 and > 3 (entries 10, documents 10)",
            ),
            (Predicate::Nothing, "nothing (documents 0)"),
            (Predicate::Anything, "scan of documents (documents 1000)"),
        ],
    );
}

#[test]
fn lists() {
    check(
        &thousand(EVERYTHING),
        vec![
            (
                is_in("b", [7, 8, 7]),
                "points /b/? in (7, 8, 7) (entries 20, documents 20)",
            ),
            (
                or([is("b", 7), is("b", 8)]),
                "points /b/? in (7, 8) (entries 20, documents 20)",
            ),
            (is_in("c", 0..300), "scan of documents (documents 1000)"),
        ],
    );
    let mut large = thousand(EVERYTHING);
    large.factor = 100;
    check(
        &large,
        vec![(is_in("c", 0..3000), "scan of documents (documents 100000)")],
    );
}

#[test]
fn long_lists_are_gathered() {
    let container = Container::new(
        EVERYTHING,
        (0..20_000).map(|n| parse(format!(r#"{{"c":{n}}}"#).as_bytes()).unwrap()),
    );
    check(
        &container,
        vec![(
            is_in("c", (0..1001).map(|n| n + 100_000)),
            "gathered /c/? in (100000, 100001, 100002, 100003, and 997 more) (documents 0)",
        )],
    );
}

#[test]
fn ranges() {
    check(
        &thousand(EVERYTHING),
        vec![
            (
                and([above("c", 10), below("c", 20)]),
                "range /c/? > 10 and < 20 (entries 9, documents 9)",
            ),
            (
                value("s", vec![ValueRange::Prefix("text 00".to_owned())]),
                "range /s/? starts with \"text 00\" (entries 100, documents 100)",
            ),
            (above("c", 100), "scan of documents (documents 1000)"),
            (defined("none"), "range /none/? is defined (documents 0)"),
            (
                above("t/[]", 990),
                "gathered /t/[]/? > 990 (entries 19, documents 19)",
            ),
        ],
    );
}

#[test]
fn ranges_over_several_values_for_all_documents() {
    let container = thousand(EVERYTHING);
    for shape in [
        QueryShape::Grouped,
        QueryShape::Sorted,
        QueryShape::Distinct,
    ] {
        let narrowing = sargable_filter(above("t/[]", 990));
        let request = AccessRequest {
            shape,
            ..container.request(&narrowing)
        };
        let plan = plan_access(&request);
        let once = "range /t/[]/? > 990, each document once";
        assert!(
            plan.explain().iter().any(|line| line.contains(once)),
            "{:?}",
            plan.alternatives
        );
    }
}

#[test]
fn several_terms() {
    check(
        &thousand(EVERYTHING),
        vec![
            (
                and([is("a", 7), is("c", 17)]),
                "point /c/? = 17 (entries 1, documents 1)",
            ),
            (
                and([is("a", 7), above("b", 90)]),
                "intersection (entries 180, documents 9)\n  \
                   gathered /b/? > 90 (entries 90, documents 90)\n  \
                   point /a/? = 7 (entries 100, documents 100)",
            ),
            (
                or([is("b", 7), is("c", 5)]),
                "union (entries 11, documents 11)\n  \
                   point /b/? = 7 (entries 10, documents 10)\n  \
                   point /c/? = 5 (entries 1, documents 1)",
            ),
            (
                or([is("b", 7), above("c", 990)]),
                "union (entries 19, documents 19)\n  \
                   point /b/? = 7 (entries 10, documents 10)\n  \
                   gathered /c/? > 990 (entries 9, documents 9)",
            ),
            (
                or([is("b", 7), Predicate::Anything]),
                "scan of documents (documents 1000)",
            ),
            (
                or([is("b", 7), and([is("c", 5), is("c", 6)])]),
                "point /b/? = 7 (entries 10, documents 10)",
            ),
        ],
    );
}

#[test]
fn sets_that_halve_one_another_are_intersected() {
    let documents = (0..8000).map(|n| {
        let text = format!(r#"{{"x":{},"y":{}}}"#, n % 40, (n / 40) % 40);
        parse(text.as_bytes()).unwrap()
    });
    check(
        &Container::new(EVERYTHING, documents),
        vec![(
            and([is("x", 3), is("y", 5)]),
            "intersection (entries 400, documents 5)\n  \
               point /x/? = 3 (entries 200, documents 200)\n  \
               point /y/? = 5 (entries 200, documents 200)",
        )],
    );
}

#[test]
fn order_of_one_path() {
    let container = thousand(EVERYTHING);
    let order = |order: &'static [OrderTerm]| {
        move |request: AccessRequest<'static>| AccessRequest {
            shape: QueryShape::Sorted,
            order,
            page_rows: Some(10),
            ..request
        }
    };
    let container: &'static Container = Box::leak(Box::new(container));
    let leak = |terms: Vec<OrderTerm>| -> &'static [OrderTerm] { Box::leak(terms.into()) };
    check_with(
        container,
        order(leak(vec![ascending("c")])),
        vec![
            (
                Predicate::Anything,
                "ordered /c/?, forward (entries 10, documents 10)",
            ),
            (is("b", 7), "point /b/? = 7 (entries 10, documents 10)"),
            (
                is("a", 7),
                "ordered /c/?, forward (entries 100, documents 100)",
            ),
            (
                above("c", 500),
                "ordered /c/? > 500, forward (entries 10, documents 10)",
            ),
        ],
    );
    check_with(
        container,
        order(leak(vec![descending("c")])),
        vec![(
            Predicate::Anything,
            "ordered /c/?, backward (entries 10, documents 10)",
        )],
    );
    // Half of the documents lack the path, and the filter does not exclude these documents.
    check_with(
        container,
        order(leak(vec![ascending("o")])),
        vec![
            (Predicate::Anything, "scan of documents (documents 1000)"),
            (
                defined("o"),
                "ordered /o/? is defined, forward (entries 10, documents 10)",
            ),
        ],
    );
    check_with(
        container,
        order(leak(vec![ascending("t")])),
        vec![(Predicate::Anything, "scan of documents (documents 1000)")],
    );
    check_with(
        container,
        order(leak(vec![ascending("a"), ascending("c")])),
        vec![(Predicate::Anything, "scan of documents (documents 1000)")],
    );
}

#[test]
fn composite_indexes() {
    let container: &'static Container = Box::leak(Box::new(thousand(ORDERED)));
    check(
        container,
        vec![
            (
                and([is("a", 7), above("c", 500)]),
                "composite (/a ASC, /c DESC) /a = 7, /c > 500 (entries 50, documents 50)",
            ),
            (
                and([is("a", 7), is("b", 17), is("c", 17)]),
                "point /c/? = 17 (entries 1, documents 1)",
            ),
        ],
    );
    let sorted = |terms: Vec<OrderTerm>| {
        let order: &'static [OrderTerm] = Box::leak(terms.into());
        move |request: AccessRequest<'static>| AccessRequest {
            shape: QueryShape::Sorted,
            order,
            page_rows: Some(10),
            ..request
        }
    };
    for (terms, predicate, expected) in [
        (
            vec![ascending("a"), descending("c")],
            Predicate::Anything,
            "ordered composite (/a ASC, /c DESC), forward (entries 10, documents 10)",
        ),
        (
            vec![descending("a"), ascending("c")],
            Predicate::Anything,
            "ordered composite (/a ASC, /c DESC), backward (entries 10, documents 10)",
        ),
        (
            vec![ascending("a"), ascending("c")],
            Predicate::Anything,
            "scan of documents (documents 1000)",
        ),
        (
            vec![ascending("b"), ascending("c")],
            is("a", 7),
            "ordered composite (/a ASC, /b ASC, /c ASC) /a = 7, forward (entries 10, documents 10)",
        ),
        (
            vec![ascending("c")],
            and([is("a", 7), above("c", 500)]),
            "ordered composite (/a ASC, /c DESC) /a = 7, /c > 500, backward \
             (entries 10, documents 10)",
        ),
        (
            vec![ascending("b")],
            is("a", 7),
            "ordered /b/?, forward (entries 100, documents 100)",
        ),
    ] {
        check_with(container, sorted(terms), vec![(predicate, expected)]);
    }
}

#[test]
fn entries_instead_of_documents() {
    let container: &'static Container = Box::leak(Box::new(thousand(EVERYTHING)));
    let covering = |at: &str, shape, min_max| {
        let covering = &*Box::leak(Box::new(path(at)));
        move |request: AccessRequest<'static>| AccessRequest {
            shape,
            covering: Some(covering),
            min_max,
            ..request
        }
    };
    for (at, shape, min_max, predicate, expected) in [
        (
            "a",
            QueryShape::Grouped,
            None,
            Predicate::Anything,
            "values /a/? (entries 1000, documents 0)",
        ),
        (
            "a",
            QueryShape::Grouped,
            None,
            is("a", 7),
            "values /a/? = 7 (entries 100, documents 0)",
        ),
        (
            "a",
            QueryShape::Distinct,
            None,
            Predicate::Anything,
            "distinct values /a/? (entries 9, documents 0)",
        ),
        (
            "c",
            QueryShape::Grouped,
            Some(MinMax::Min),
            Predicate::Anything,
            "first value /c/? (entries 1, documents 0)",
        ),
        (
            "c",
            QueryShape::Grouped,
            Some(MinMax::Max),
            below("c", 5),
            "last value /c/? < 5 (entries 1, documents 0)",
        ),
        (
            "o",
            QueryShape::Grouped,
            Some(MinMax::Min),
            Predicate::Anything,
            "scan of documents (documents 1000)",
        ),
        (
            "o",
            QueryShape::Distinct,
            None,
            defined("o"),
            "distinct values /o/? is defined (entries 500, documents 0)",
        ),
        (
            "a",
            QueryShape::Grouped,
            None,
            is("b", 7),
            "point /b/? = 7 (entries 10, documents 10)",
        ),
        (
            "t",
            QueryShape::Grouped,
            None,
            Predicate::Anything,
            "scan of documents (documents 1000)",
        ),
        (
            "t/[]",
            QueryShape::Grouped,
            None,
            Predicate::Anything,
            "scan of documents (documents 1000)",
        ),
    ] {
        check_with(
            container,
            covering(at, shape, min_max),
            vec![(predicate, expected)],
        );
    }
}

#[test]
fn an_inexact_filter_needs_documents() {
    let container = thousand(EVERYTHING);
    let covering = path("a");
    let narrowing = SargableFilter {
        predicate: is("a", 7),
        is_exact: false,
    };
    let request = AccessRequest {
        shape: QueryShape::Grouped,
        covering: Some(&covering),
        ..container.request(&narrowing)
    };
    assert_eq!(
        tree(&request),
        "point /a/? = 7 (entries 100, documents 100)"
    );
}

#[test]
fn geometries() {
    let near = |metres_max| Predicate::Spatial {
        path: path("p"),
        relation: SpatialRelation::Distance { metres_max },
        geometry: parse(br#"{"type":"Point","coordinates":[7,7]}"#).unwrap(),
    };
    let spatial = r#"{"spatialIndexes":[{"path":"/p/?","types":["Point"]}]}"#;
    let plan = |policy, predicate| tree(&thousand(policy).request(&sargable_filter(predicate)));
    assert_eq!(
        plan(spatial, near(1000.0)),
        "gathered /p/? within 1000 m of the geometry (entries 10, documents 10)"
    );
    assert_eq!(
        plan(EVERYTHING, near(1000.0)),
        "scan of documents (documents 1000)"
    );
}

#[test]
fn paths_outside_of_the_policy() {
    let policy = r#"{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}"#;
    check(
        &thousand(policy),
        vec![
            (is("b", 7), "scan of documents (documents 1000)"),
            (
                and([is("a", 7), is("b", 7)]),
                "point /a/? = 7 (entries 100, documents 100)",
            ),
        ],
    );
    let none = r#"{"indexingMode":"none","automatic":false}"#;
    check(
        &thousand(none),
        vec![
            (is("a", 7), "scan of documents (documents 1000)"),
            (and([is("a", 7), is("a", 8)]), "nothing (documents 0)"),
        ],
    );
}

#[test]
fn a_document_without_entries_means_a_scan() {
    let mut container = thousand(EVERYTHING);
    container.not_indexed = 1;
    check(
        &container,
        vec![(is("b", 7), "scan of documents (documents 1000)")],
    );
    let narrowing = sargable_filter(is("b", 7));
    let request = AccessRequest {
        only_indexed: true,
        ..container.request(&narrowing)
    };
    assert!(tree(&request).starts_with("point /b/? = 7"));
}

#[test]
fn only_what_both_policies_have_while_one_replaces_the_other() {
    let container = thousand(EVERYTHING);
    let policy = r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/b/?"}]}"#;
    let next = super::container::definition(policy);
    let both = IndexDefinition::intersection(&container.definition, &next);
    for (predicate, expected) in [
        (is("b", 7), "scan of documents (documents 1000)"),
        (is("c", 7), "point /c/? = 7 (entries 1, documents 1)"),
    ] {
        let narrowing = sargable_filter(predicate);
        let request = AccessRequest {
            definition: &both,
            ..container.request(&narrowing)
        };
        assert_eq!(tree(&request), expected);
    }
}

#[test]
fn estimates_of_long_runs() {
    let mut container = thousand(EVERYTHING);
    container.factor = 1000;
    check(
        &container,
        vec![
            (is("c", 7), "point /c/? = 7 (entries 939, documents 939)"),
            (
                and([above("c", 100), below("c", 150)]),
                "range /c/? > 100 and < 150 (entries 50050, documents 50050)",
            ),
        ],
    );
}

#[test]
fn entries_are_counted_where_that_could_change_the_plan() {
    let mut container = thousand(EVERYTHING);
    let by_c = [OrderTerm {
        path: path("c"),
        descending: false,
    }];
    let covering = path("b");
    for (factor, predicate, shape, is_counted) in [
        (1, is("b", 7), QueryShape::Stream, true),
        (100, is("b", 7), QueryShape::Stream, false),
        (100, is("b", 7), QueryShape::Distinct, false),
        (100, is_in("b", [7, 8]), QueryShape::Stream, false),
        // The scan is the cheapest plan, unless a count shows that few entries match.
        (100, above("b", 7), QueryShape::Stream, true),
        (100, above("b", 95), QueryShape::Stream, false),
        // The entries of the index cover the query.
        (100, above("b", 7), QueryShape::Grouped, false),
        // The order of another path is the cheapest plan, unless a count shows that few entries
        // match.
        (100, above("b", 7), QueryShape::Sorted, true),
        (100, above("c", 7), QueryShape::Sorted, false),
        (100, and([is("b", 7), is("c", 7)]), QueryShape::Stream, true),
    ] {
        container.factor = factor;
        container.counts.set(0);
        let narrowing = sargable_filter(predicate);
        let request = AccessRequest {
            shape,
            order: if shape == QueryShape::Sorted {
                &by_c
            } else {
                &[]
            },
            covering: (shape == QueryShape::Grouped).then_some(&covering),
            page_rows: (shape == QueryShape::Sorted).then_some(10),
            ..container.request(&narrowing)
        };
        plan_access(&request);
        let is_so = container.counts.get() > 0;
        assert_eq!(is_so, is_counted, "{narrowing:?} {shape:?}");
    }
}

#[test]
fn a_small_scope_is_scanned_sooner() {
    let mut container = thousand(EVERYTHING);
    container.scope = Some(100);
    check(
        &container,
        vec![
            (is("b", 7), "point /b/? = 7 (entries 1, documents 1)"),
            // Fifteen entries are in the scope, interleaved with the entries of all other
            // documents.
            (below("b", 15), "scan of documents (documents 100)"),
        ],
    );
}

#[test]
fn a_continuation_keeps_its_access() {
    let container = thousand(EVERYTHING);
    let narrowing = sargable_filter(and([above("c", 10), below("c", 500), is("b", 50)]));
    let request = container.request(&narrowing);
    let first = plan_access(&request);
    assert_eq!(first.tag, AccessTag::KEY_ORDER);
    let range = AccessTag {
        kind: AccessKind::Range,
        index: IndexHash::of_path(&path("c")),
    };
    let resumed = resume_access(&request, range).unwrap();
    assert_eq!(resumed.tag, range);
    assert!(matches!(resumed.access, AccessPath::Entries(_)));
    let gone = AccessTag {
        kind: AccessKind::Range,
        index: IndexHash::of_path(&path("d")),
    };
    assert_eq!(resume_access(&request, gone), None);
}

#[test]
fn an_explanation_names_what_was_considered() {
    let container = thousand(EVERYTHING);
    let narrowing = sargable_filter(is("b", 7));
    let plan = plan_access(&container.request(&narrowing));
    assert_eq!(
        plan.explain(),
        [
            "point /b/? = 7 (entries 10, documents 10)",
            "considered: scan of documents, cost 2010",
        ]
    );
}

#[test]
fn a_gap_that_statistics_do_not_know_is_found() {
    let numbers = (0..10_000).chain([40_000, 50_000]).chain(90_000..100_000);
    let documents = numbers.map(|n| parse(format!(r#"{{"c":{n}}}"#).as_bytes()).unwrap());
    let container = Container::new(EVERYTHING, documents);
    check(
        &container,
        vec![
            (
                and([above("c", 20_000), below("c", 80_000)]),
                "range /c/? > 20000 and < 80000 (entries 2, documents 2)",
            ),
            (
                and([above("c", 5_000), below("c", 95_000)]),
                "scan of documents (documents 20002)",
            ),
        ],
    );
}
