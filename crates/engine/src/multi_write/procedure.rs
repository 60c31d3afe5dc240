//! Resolves a conflict by a stored procedure.
//!
//! The procedure runs as a transaction of the logical partition. The same record carries its writes
//! and the decision of the conflict, so that the conflict is decided exactly once. The arguments
//! are read after the run has begun to watch its partition; a concurrent change restarts the run.

use std::sync::Arc;

use bytes::Bytes;
use orrery_json::Value;
use orrery_model::{Charge, ConsistencyLevel, Failure, Script};
use orrery_partition::{Container, ScanRange, StoredConflict};

use super::conflicts::{key_of, value_of};
use crate::{Engine, RequestBudget};

impl Engine {
    pub(super) async fn resolve_by_procedure(
        self: &Arc<Self>,
        container: &Arc<Container>,
        script: &Arc<Script>,
        item: &Bytes,
    ) -> Result<(), Failure> {
        let Some(conflict) = self.conflict_of(container, item)? else {
            return Ok(());
        };
        let key = conflict.losers.first();
        let Some(key) = key.and_then(|loser| key_of(container, loser)) else {
            return Err(Failure::Internal(
                "a version has no partition key".to_owned(),
            ));
        };
        let budget = RequestBudget::unmetered(ConsistencyLevel::Session);
        // A closure, because each run of the script reads the conflict again.
        let arguments = || {
            let conflict = self.conflict_of(container, item)?;
            Ok(conflict.as_ref().map(arguments))
        };
        self.resolve_by_script(container, script, key, budget, item, arguments)
            .await
            .map(|_: Charge| ())
    }

    fn conflict_of(
        &self,
        container: &Container,
        item: &Bytes,
    ) -> Result<Option<StoredConflict>, Failure> {
        let scope = ScanRange::of_document(container, item);
        let found = self.store.conflicts(&scope, None, 1)?;
        Ok(found.into_iter().find(|conflict| conflict.item == *item))
    }
}

/// The arguments of the service's protocol: incoming item, existing item, whether the existing item
/// is a tombstone, and further conflicting items.
fn arguments(conflict: &StoredConflict) -> Vec<Value> {
    let mut losers = conflict.losers.iter();
    let text = |document: &orrery_partition::StoredItem| value_of(&document.text());
    let incoming = losers.next().map(|loser| text(&loser.document));
    let existing = conflict.visible.as_ref().map(text);
    let is_tombstone = conflict.visible.is_none() && !conflict.is_contested;
    let others = losers.map(|loser| text(&loser.document));
    let others = others.chain(conflict.holders.iter().map(text)).collect();
    vec![
        incoming.unwrap_or(Value::Null),
        existing.unwrap_or(Value::Null),
        Value::Bool(is_tombstone),
        Value::Array(others),
    ]
}
