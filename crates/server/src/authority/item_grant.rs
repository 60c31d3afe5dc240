//! Requests under a token for single items, which are known by their resource ids.
//!
//! The path of such a request names an item by its id, but since the token was made the granted
//! item may have been deleted and another item created with the same id. So a read shows the item
//! only if its resource id was granted, and a write has the entity tag of the version with the
//! granted resource id as its precondition.

use orrery_engine::{Metering, ReadBudget, RequestBudget, TriggerNames, TriggeredOutcome};
use orrery_keys::ItemRid;
use orrery_model::{
    ChargedResult, Failure, Operation, OperationKind, OperationOutcome, OperationStatus,
    Precondition,
};
use orrery_wire::{GrantedItems, token_forbidden};

use super::{AuthorizedKey, ItemAccess};

/// How often a write is tried if other writers change its item at the same time.
const ATTEMPTS_MAX: usize = 16;

/// Reads an item, and shows it only if its resource id was granted.
pub(super) fn read(
    access: &ItemAccess<'_>,
    items: &GrantedItems,
    key: &AuthorizedKey,
    id: &str,
    if_none_match: Option<&Precondition>,
    budget: ReadBudget,
) -> ChargedResult<OperationOutcome> {
    // The token grants an item by id: another id cannot be the granted item.
    if items.id.as_ref().is_some_and(|granted| granted != id) {
        return ChargedResult::refused(not_covered());
    }
    // Without the client's precondition: an answer without a body would have no resource id to
    // check.
    let mut answer = access.read_any_item(key, id, None, budget);
    let rid = match &answer.result {
        Ok(outcome) => outcome.body.as_deref().and_then(rid_of),
        Err(Failure::NotFound(_)) => None,
        Err(_) => return answer,
    };
    let is_granted = rid.is_some_and(|rid| items.rids.contains(&rid));
    let Some(outcome) = answer.result.as_mut().ok().filter(|_| is_granted) else {
        // The failure must not reveal whether another item has the id now.
        return ChargedResult::refused(match items.id {
            Some(_) => Failure::NOT_FOUND,
            None => not_covered(),
        });
    };
    let etag = outcome.etag.as_ref();
    // The precondition is checked only after the resource id: a 304 would reveal an item that is
    // not granted.
    if if_none_match.is_some_and(|known| etag.is_some_and(|etag| known.matches(etag))) {
        outcome.status = OperationStatus::NotModified;
        outcome.body = None;
    }
    answer
}

/// Checks the resource id of an item in a path of resource ids.
pub(super) fn check_rid(items: &GrantedItems, rid: ItemRid) -> Result<(), Failure> {
    if items.rids.contains(&rid) {
        Ok(())
    } else {
        Err(not_covered())
    }
}

fn not_covered() -> Failure {
    token_forbidden("is for another item")
}

/// Writes a granted item. Replace, patch and delete are allowed; no other operation works on an
/// existing item alone.
pub(super) async fn write(
    access: &ItemAccess<'_>,
    items: &GrantedItems,
    key: AuthorizedKey,
    operation: Operation,
    triggers: &TriggerNames,
    budget: RequestBudget,
) -> ChargedResult<TriggeredOutcome> {
    let id = match &operation.kind {
        OperationKind::Replace { id, document } if document.id() == id => id.clone(),
        OperationKind::Patch { id, .. } | OperationKind::Delete { id } => id.clone(),
        OperationKind::Replace { .. } => {
            return ChargedResult::refused(token_forbidden(
                "covers single items, which keep their ids",
            ));
        }
        OperationKind::Create(_) | OperationKind::Upsert(_) | OperationKind::Read { .. } => {
            return ChargedResult::refused(token_forbidden("covers single items, which are there"));
        }
    };
    // A trigger may write other items of the container, which the token does not grant.
    if !triggers.is_empty() {
        return ChargedResult::refused(token_forbidden(
            "covers single items, and triggers may write others: leave their names out",
        ));
    }
    let if_match = operation.if_match.clone();
    // The client is not charged for this check; the write itself is charged.
    let unmetered = ReadBudget {
        level: budget.level,
        metering: Metering::Unmetered,
    };
    for _ in 0..ATTEMPTS_MAX {
        let found = read(access, items, &key, &id, None, unmetered);
        let etag = match found.result {
            Ok(outcome) => outcome.etag,
            Err(failure) => return ChargedResult::refused(failure),
        };
        let etag = etag.expect("an item that was read has an entity tag");
        if if_match
            .as_ref()
            .is_some_and(|if_match| !if_match.matches(&etag))
        {
            // The client's own precondition is checked here, because the engine receives the etag
            // of the granted version instead.
            return ChargedResult::refused(Failure::PreconditionFailed);
        }
        let operation = Operation {
            // Between the read and the write the item may be replaced by another item of the same
            // id. The etag makes the write fail then.
            if_match: Some(Precondition::Etag(etag.into_string())),
            ..operation.clone()
        };
        let answer = access
            .write_any_item(key.clone(), operation, triggers, budget.clone())
            .await;
        // A conflict with another writer: the next attempt reads the new version and checks its
        // resource id.
        if !matches!(answer.result, Err(Failure::PreconditionFailed)) {
            return answer;
        }
    }
    ChargedResult::refused(Failure::PreconditionFailed)
}

/// The resource id of an item, which every stored item contains.
fn rid_of(text: &[u8]) -> Option<ItemRid> {
    let item = orrery_json::parse(text).ok()?;
    ItemRid::parse(item.get("_rid").as_str()?).ok()
}
