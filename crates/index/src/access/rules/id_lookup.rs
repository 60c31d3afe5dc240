//! Documents whose ids the filter lists, in one logical partition: the ids determine the document
//! keys, and no index lookup is cheaper.

use orrery_exec::{DocumentPath, PathStep, Predicate, ValueRange};
use orrery_json::Value;

use crate::access::candidate::Candidate;
use crate::access::{AccessPath, AccessRequest, AccessTag, Estimate, PlanNode, cost};

/// Maximum number of ids. A longer list uses an index, one cursor after the other.
const NAMES_MAX: usize = 1_000;

pub(in crate::access) fn propose(request: &AccessRequest<'_>) -> Option<Candidate> {
    if !request.is_one_partition {
        return None;
    }
    let names = names(&request.sargable_filter.predicate)?;
    let documents = names.len() as u64;
    Some(Candidate {
        access: AccessPath::IdLookup(names),
        tag: AccessTag::KEY_ORDER,
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

/// The ids that the filter allows, if it restricts documents to a list of ids.
fn names(predicate: &Predicate) -> Option<Vec<String>> {
    match predicate {
        Predicate::And(all) => all.iter().find_map(names),
        Predicate::Value { path, ranges } if is_id(path) && ranges.len() <= NAMES_MAX => {
            let mut names = Vec::with_capacity(ranges.len());
            for range in ranges {
                match range {
                    ValueRange::Equal(Value::String(name)) => names.push(name.clone()),
                    // An id is always a string, so no document matches this value.
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
