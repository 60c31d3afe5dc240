//! What the store has promised: every transaction in the order of its arrival, and its answer.
//!
//! The commit path takes transactions in order, so after a crash the state must be the result of a
//! prefix of them. The prefix has at least every acknowledged transaction. Of the refused ones only
//! those at the end may have reached the log: a later acknowledgement proves that the log went on
//! without them.

use std::collections::BTreeMap;

/// The items of the container: the value of each id.
pub(crate) type Items = BTreeMap<String, u64>;

/// A change of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Create(String, u64),
    Upsert(String, u64),
    Replace(String, u64),
    Delete(String),
}

/// A transaction: all of its changes happen, or none.
pub(crate) type Changes = Vec<Change>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The client has no answer yet.
    Pending,
    /// Every change happened.
    Committed,
    /// A change was impossible: the id exists, or does not exist.
    Impossible,
    /// The store could not write.
    Refused,
}

#[derive(Debug)]
struct Entry {
    changes: Changes,
    outcome: Outcome,
}

/// A promise that the store has broken.
#[derive(Debug)]
pub struct Violation(pub String);

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The items before the first entry.
    base: Items,
    entries: Vec<Entry>,
}

impl Ledger {
    /// Notes a transaction that was given to the store, and returns its number.
    pub(crate) fn submit(&mut self, changes: Changes) -> usize {
        self.entries.push(Entry {
            changes,
            outcome: Outcome::Pending,
        });
        self.entries.len() - 1
    }

    /// Notes an answer, and compares it with the result of every earlier transaction.
    pub(crate) fn answer(&mut self, number: usize, outcome: Outcome) -> Result<(), Violation> {
        let mut items = self.base.clone();
        for entry in &self.entries[..number] {
            // Answers come in the order of the transactions, so each earlier one has its answer.
            if entry.outcome == Outcome::Committed {
                items = applied(&items, &entry.changes).unwrap_or(items);
            }
        }
        let is_possible = applied(&items, &self.entries[number].changes).is_some();
        let entry = &mut self.entries[number];
        entry.outcome = outcome;
        match (outcome, is_possible) {
            (Outcome::Committed, false) | (Outcome::Impossible, true) => Err(Violation(format!(
                "transaction {number} {:?} was answered with {outcome:?} over {items:?}",
                entry.changes
            ))),
            _ => Ok(()),
        }
    }

    /// The items of a store whose every transaction has an answer and that did not restart.
    pub(crate) fn acknowledged(&self) -> Items {
        self.after(0..self.entries.len(), |entry| {
            entry.outcome == Outcome::Committed
        })
    }

    pub(crate) fn pending(&self) -> usize {
        let entries = self.entries.iter();
        entries
            .filter(|entry| entry.outcome == Outcome::Pending)
            .count()
    }

    /// Judges the items that a crash has left. The ledger begins anew with them.
    pub(crate) fn recover(&mut self, found: Items) -> Result<(), Violation> {
        let acknowledged = self
            .entries
            .iter()
            .rposition(|entry| entry.outcome == Outcome::Committed);
        let sure = acknowledged.map_or(0, |last| last + 1);
        let of_the_sure = self.after(0..sure, |entry| entry.outcome == Outcome::Committed);
        // The transactions after the last acknowledged one reached the log or did not. Those that
        // were refused before the log changed lie before a group that reached it, or after it.
        let rest = &self.entries[sure..];
        for from in 0..=rest.len() {
            let mut items = of_the_sure.clone();
            let mut is_found = items == found;
            for entry in &rest[from..] {
                items = applied(&items, &entry.changes).unwrap_or(items);
                is_found |= items == found;
            }
            if is_found {
                *self = Ledger {
                    base: found,
                    entries: Vec::new(),
                };
                return Ok(());
            }
        }
        Err(Violation(format!(
            "after a crash the items are {found:?}; acknowledged were {of_the_sure:?}, and after them came {rest:?}"
        )))
    }

    fn after(&self, range: std::ops::Range<usize>, takes: impl Fn(&Entry) -> bool) -> Items {
        let mut items = self.base.clone();
        for entry in self.entries[range].iter().filter(|entry| takes(entry)) {
            items = applied(&items, &entry.changes).unwrap_or(items);
        }
        items
    }
}

/// The items after a transaction; `None` if one of its changes is impossible.
fn applied(items: &Items, changes: &[Change]) -> Option<Items> {
    let mut items = items.clone();
    for change in changes {
        match change {
            Change::Create(id, value) => {
                if items.insert(id.clone(), *value).is_some() {
                    return None;
                }
            }
            Change::Upsert(id, value) => {
                items.insert(id.clone(), *value);
            }
            Change::Replace(id, value) => {
                items.insert(id.clone(), *value)?;
            }
            Change::Delete(id) => {
                items.remove(id)?;
            }
        }
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upsert(id: &str, value: u64) -> Changes {
        vec![Change::Upsert(id.to_owned(), value)]
    }

    fn items(entries: &[(&str, u64)]) -> Items {
        let entries = entries.iter();
        entries
            .map(|(id, value)| ((*id).to_owned(), *value))
            .collect()
    }

    /// The first transaction is acknowledged, the second is pending, and the third too.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.submit(upsert("a", 1));
        ledger.submit(vec![
            Change::Create("b".to_owned(), 2),
            Change::Create("c".to_owned(), 2),
        ]);
        ledger.submit(upsert("a", 3));
        ledger.answer(0, Outcome::Committed).unwrap();
        ledger
    }

    #[test]
    fn a_crash_leaves_a_prefix() {
        for (found, is_right) in [
            (items(&[("a", 1)]), true),
            (items(&[("a", 1), ("b", 2), ("c", 2)]), true),
            (items(&[("a", 3), ("b", 2), ("c", 2)]), true),
            (items(&[]), false),
            (items(&[("a", 1), ("b", 2)]), false),
            (items(&[("a", 7)]), false),
        ] {
            let judged = ledger().recover(found.clone());
            assert_eq!(judged.is_ok(), is_right, "{found:?}");
        }
    }

    #[test]
    fn an_answer_must_fit_the_order() {
        let mut ledger = ledger();
        assert!(ledger.answer(1, Outcome::Impossible).is_err());
        ledger.submit(vec![Change::Delete("x".to_owned())]);
        assert!(ledger.answer(3, Outcome::Committed).is_err());
    }
}
