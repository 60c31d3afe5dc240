//! The result of the planner.

use super::{AccessPath, PlanNode};
use crate::IndexHash;

/// The selected access path, with its cost and an explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessPlan {
    pub access: AccessPath,
    pub tag: AccessTag,
    pub estimate: Estimate,
    pub cost: f64,
    pub root: PlanNode,
    /// The access paths that were compared with the selected one, cheapest first.
    pub alternatives: Vec<AlternativePlan>,
}

impl AccessPlan {
    /// The plan that reads every document, regardless of cost.
    #[must_use]
    pub fn scan() -> AccessPlan {
        AccessPlan {
            access: AccessPath::DocumentScan,
            tag: AccessTag::KEY_ORDER,
            estimate: Estimate::default(),
            cost: 0.0,
            root: PlanNode {
                name: "scan of documents",
                index: None,
                predicate: None,
                detail: Some("because the entries do not hold the values"),
                entries: 0,
                documents: 0,
                children: Vec::new(),
            },
            alternatives: Vec::new(),
        }
    }
}

/// The estimated numbers of entries and documents that the plan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    pub entries: u64,
    pub documents: u64,
}

/// An access path that was compared with the selected one.
#[derive(Debug, Clone, PartialEq)]
pub struct AlternativePlan {
    pub node: PlanNode,
    pub cost: f64,
}

impl AlternativePlan {
    /// A description in one line.
    pub fn what(&self) -> String {
        self.node.title()
    }
}

/// The part of a plan that a continuation token stores, so that its position stays valid.
///
/// All access paths in document key order share one tag, because a document key is a valid position
/// in each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessTag {
    pub kind: AccessKind,
    /// [`IndexHash::ROOT`] for access paths in document key order.
    pub index: IndexHash,
}

/// The numbers are part of continuation tokens and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AccessKind {
    KeyOrder = 0,
    Range = 1,
    Ordered = 2,
    CompositeRange = 3,
    CompositeOrdered = 4,
    Once = 5,
    Values = 6,
    DistinctValues = 7,
    FirstValue = 8,
}

impl AccessTag {
    pub const KEY_ORDER: AccessTag = AccessTag {
        kind: AccessKind::KeyOrder,
        index: IndexHash::ROOT,
    };
}

impl AccessKind {
    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<AccessKind> {
        [
            AccessKind::KeyOrder,
            AccessKind::Range,
            AccessKind::Ordered,
            AccessKind::CompositeRange,
            AccessKind::CompositeOrdered,
            AccessKind::Once,
            AccessKind::Values,
            AccessKind::DistinctValues,
            AccessKind::FirstValue,
        ]
        .into_iter()
        .find(|kind| kind.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_lead_back_to_their_kind() {
        let kinds: Vec<AccessKind> = (0..=u8::MAX).filter_map(AccessKind::from_code).collect();
        assert_eq!(kinds.len(), 9);
        for kind in kinds {
            assert_eq!(AccessKind::from_code(kind.code()), Some(kind));
        }
    }
}
