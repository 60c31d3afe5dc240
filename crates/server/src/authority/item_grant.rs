//! Requests under a token for single items, which are known by their resource ids.
//!
//! The path of such a request names an item by its id, but since the token was made the granted
//! item may have been deleted and another item created with the same id. So a read shows the item
//! only if its resource id was granted, and a write has the entity tag of the version with the
//! granted resource id as its precondition.

use orrery_engine::{Metering, ReadTerms, Terms, Triggers, Written};
use orrery_keys::ItemRid;
use orrery_model::{
    Answer, Failure, Operation, OperationKind, OperationOutcome, OperationStatus, Precondition,
};
use orrery_wire::{GrantedItems, refused};

use super::{Key, Reach};

/// How often a write is tried whose item others change at the same time.
const ATTEMPTS_MAX: usize = 16;

pub(super) fn read(
    reach: &Reach<'_>,
    items: &GrantedItems,
    key: &Key,
    id: &str,
    if_none_match: Option<&Precondition>,
    terms: ReadTerms,
) -> Answer<OperationOutcome> {
    if items.id.as_ref().is_some_and(|granted| granted != id) {
        return Answer::refused(not_covered());
    }
    let mut answer = reach.read_any_item(key, id, None, terms);
    let rid = match &answer.result {
        Ok(outcome) => outcome.body.as_deref().and_then(rid_of),
        Err(Failure::NotFound(_)) => None,
        Err(_) => return answer,
    };
    let is_granted = rid.is_some_and(|rid| items.rids.contains(&rid));
    let Some(outcome) = answer.result.as_mut().ok().filter(|_| is_granted) else {
        // The failure does not tell whether another item has the id now.
        return Answer::refused(match items.id {
            Some(_) => Failure::NOT_FOUND,
            None => not_covered(),
        });
    };
    let etag = outcome.etag.as_ref();
    if if_none_match.is_some_and(|known| etag.is_some_and(|etag| known.matches(etag))) {
        outcome.status = OperationStatus::NotModified;
        outcome.body = None;
    }
    answer
}

/// The id of an item in a path of resource ids.
pub(super) fn check_rid(items: &GrantedItems, rid: ItemRid) -> Result<(), Failure> {
    if items.rids.contains(&rid) {
        Ok(())
    } else {
        Err(not_covered())
    }
}

fn not_covered() -> Failure {
    refused("is for another item")
}

pub(super) async fn write(
    reach: &Reach<'_>,
    items: &GrantedItems,
    key: Key,
    operation: Operation,
    triggers: &Triggers,
    terms: Terms,
) -> Answer<Written> {
    let id = match &operation.kind {
        OperationKind::Replace { id, document } if document.id() == id => id.clone(),
        OperationKind::Patch { id, .. } | OperationKind::Delete { id } => id.clone(),
        OperationKind::Replace { .. } => {
            return Answer::refused(refused("covers single items, which keep their ids"));
        }
        OperationKind::Create(_) | OperationKind::Upsert(_) | OperationKind::Read { .. } => {
            return Answer::refused(refused("covers single items, which are there"));
        }
    };
    if !triggers.is_empty() {
        return Answer::refused(refused(
            "covers single items, and triggers may write others: leave their names out",
        ));
    }
    let asked = operation.if_match.clone();
    let unmetered = ReadTerms {
        level: terms.level,
        metering: Metering::Unmetered,
    };
    for _ in 0..ATTEMPTS_MAX {
        let found = read(reach, items, &key, &id, None, unmetered);
        let etag = match found.result {
            Ok(outcome) => outcome.etag,
            Err(failure) => return Answer::refused(failure),
        };
        let etag = etag.expect("an item that was read has an entity tag");
        if asked.as_ref().is_some_and(|asked| !asked.matches(&etag)) {
            return Answer::refused(Failure::PreconditionFailed);
        }
        let operation = Operation {
            if_match: Some(Precondition::Etag(etag.into_string())),
            ..operation.clone()
        };
        let answer = reach
            .write_any_item(key.clone(), operation, triggers, terms.clone())
            .await;
        if !matches!(answer.result, Err(Failure::PreconditionFailed)) {
            return answer;
        }
    }
    Answer::refused(Failure::PreconditionFailed)
}

/// Every stored item has its resource id in its text.
fn rid_of(text: &[u8]) -> Option<ItemRid> {
    let item = orrery_json::parse(text).ok()?;
    ItemRid::parse(item.get("_rid").as_str()?).ok()
}
