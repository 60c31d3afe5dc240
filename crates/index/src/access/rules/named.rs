//! Documents whose ids the filter lists, in one logical partition: their places are known without an
//! index, and nothing finds them sooner.

use orrery_exec::{DocumentPath, PathStep, Predicate, ValueRange};
use orrery_json::Value;

use crate::access::candidate::Candidate;
use crate::access::{Access, AccessRequest, AccessTag, Estimate, PlanNode, cost};

/// A longer list is looked up in an index, one cursor after the other.
const NAMES_MAX: usize = 1_000;

pub(in crate::access) fn propose(request: &AccessRequest<'_>) -> Option<Candidate> {
    if !request.is_one_partition {
        return None;
    }
    let names = names(&request.narrowing.predicate)?;
    let documents = names.len() as u64;
    Some(Candidate {
        access: Access::Named(names),
        tag: AccessTag::PLACE_ORDER,
        estimate: Estimate {
            entries: 0,
            documents,
        },
        cost: documents as f64 * cost::DOCUMENT_FETCHED,
        node: PlanNode {
            name: "lookup",
            index: None,
            predicate: Some("by id".to_owned()),
            detail: None,
            entries: 0,
            documents,
            children: Vec::new(),
        },
    })
}

/// The ids that a document must have one of, if the filter says so.
fn names(predicate: &Predicate) -> Option<Vec<String>> {
    match predicate {
        Predicate::And(all) => all.iter().find_map(names),
        Predicate::Value { path, ranges } if is_id(path) && ranges.len() <= NAMES_MAX => {
            let mut names = Vec::with_capacity(ranges.len());
            for range in ranges {
                match range {
                    ValueRange::Equal(Value::String(name)) => names.push(name.clone()),
                    // No document has another id than a string.
                    ValueRange::Equal(_) => {}
                    _ => return None,
                }
            }
            Some(names)
        }
        _ => None,
    }
}

fn is_id(path: &DocumentPath) -> bool {
    matches!(&path.0[..], [PathStep::Name(name)] if name == "id")
}
