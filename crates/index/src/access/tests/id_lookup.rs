//! Filters whose ids locate documents directly.

use orrery_exec::{Predicate, ValueRange};
use orrery_json::parse;

use super::container::{Container, EVERYTHING, sargable_filter};
use super::predicates::{is, path};
use crate::access::{AccessPath, AccessRequest, plan_access};

#[test]
fn ids_in_one_partition_are_looked_up() {
    let documents = (0..20).map(|n| parse(format!(r#"{{"a":{n}}}"#).as_bytes()).unwrap());
    let container = Container::new(EVERYTHING, documents);
    let equal = |values: &[&str]| Predicate::Value {
        path: path("id"),
        ranges: values
            .iter()
            .map(|text| ValueRange::Equal(parse(text.as_bytes()).unwrap()))
            .collect(),
    };
    let names = |predicate: Predicate, is_one_partition: bool| {
        let narrowing = sargable_filter(predicate);
        let request = AccessRequest {
            is_one_partition,
            ..container.request(&narrowing)
        };
        match plan_access(&request).access {
            AccessPath::IdLookup(names) => Some(names.join(" ")),
            _ => None,
        }
    };
    let one = equal(&[r#""x""#]);
    let some = Predicate::And(vec![is("a", 7), equal(&[r#""x""#, "1", r#""y""#])]);
    let either = Predicate::Or(vec![one.clone(), is("a", 7)]);
    let begins = Predicate::Value {
        path: path("id"),
        ranges: vec![ValueRange::Prefix("x".to_owned())],
    };
    for (predicate, named) in [
        (one.clone(), Some("x")),
        (some, Some("x y")),
        (equal(&["1"]), Some("")),
        (either, None),
        (begins, None),
        (is("a", 7), None),
    ] {
        assert_eq!(names(predicate, true).as_deref(), named);
    }
    assert_eq!(names(one, false), None);
}
