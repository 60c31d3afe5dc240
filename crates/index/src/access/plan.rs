//! What the planner answers.

use super::{Access, PlanNode};
use crate::IndexHash;

/// How the documents of a query are found, and why so.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessPlan {
    pub access: Access,
    pub tag: AccessTag,
    pub estimate: Estimate,
    pub cost: f64,
    pub root: PlanNode,
    /// What was compared with it, the cheapest first.
    pub considered: Vec<Considered>,
}

impl AccessPlan {
    /// The plan that looks at every document, whatever that costs.
    #[must_use]
    pub fn scan() -> AccessPlan {
        AccessPlan {
            access: Access::Documents,
            tag: AccessTag::PLACE_ORDER,
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
            considered: Vec::new(),
        }
    }
}

/// How much is read, as far as the planner can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    pub entries: u64,
    pub documents: u64,
}

/// One of the ways that were compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Considered {
    pub node: PlanNode,
    pub cost: f64,
}

impl Considered {
    /// In one line.
    pub fn what(&self) -> String {
        self.node.title()
    }
}

/// What a continuation must repeat so that its position keeps its meaning.
///
/// All accesses in the order of places have one tag, because a place means the same to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessTag {
    pub kind: AccessKind,
    /// That of the root for the order of places.
    pub index: IndexHash,
}

/// The numbers are part of continuation tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AccessKind {
    PlaceOrder = 0,
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
    pub const PLACE_ORDER: AccessTag = AccessTag {
        kind: AccessKind::PlaceOrder,
        index: IndexHash::ROOT,
    };
}

impl AccessKind {
    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<AccessKind> {
        [
            AccessKind::PlaceOrder,
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
