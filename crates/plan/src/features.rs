//! The plan features that a client supports, from the header
//! `x-ms-cosmos-supported-query-features`.

use std::fmt;

/// A set of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u32);

/// The names, in the order in which an error lists missing features.
const NAMES: [(&str, Features); 17] = [
    ("Aggregate", Features::AGGREGATE),
    ("CompositeAggregate", Features::COMPOSITE_AGGREGATE),
    ("Distinct", Features::DISTINCT),
    ("GroupBy", Features::GROUP_BY),
    ("MultipleAggregates", Features::MULTIPLE_AGGREGATES),
    ("MultipleOrderBy", Features::MULTIPLE_ORDER_BY),
    ("OffsetAndLimit", Features::OFFSET_AND_LIMIT),
    ("OrderBy", Features::ORDER_BY),
    ("Top", Features::TOP),
    ("NonValueAggregate", Features::NON_VALUE_AGGREGATE),
    ("DCount", Features::DISTINCT_COUNT),
    ("NonStreamingOrderBy", Features::NON_STREAMING_ORDER_BY),
    ("ListAndSetAggregate", Features::LIST_AND_SET_AGGREGATE),
    ("CountIf", Features::COUNT_IF),
    ("HybridSearch", Features::HYBRID_SEARCH),
    ("WeightedRankFusion", Features::WEIGHTED_RANK_FUSION),
    (
        "HybridSearchSkipOrderByRewrite",
        Features::HYBRID_SEARCH_SKIP_ORDER_BY_REWRITE,
    ),
];

impl Features {
    pub const NONE: Features = Features(0);
    pub const AGGREGATE: Features = Features(1);
    pub const COMPOSITE_AGGREGATE: Features = Features(1 << 1);
    pub const DISTINCT: Features = Features(1 << 2);
    pub const GROUP_BY: Features = Features(1 << 3);
    pub const MULTIPLE_AGGREGATES: Features = Features(1 << 4);
    pub const MULTIPLE_ORDER_BY: Features = Features(1 << 5);
    pub const OFFSET_AND_LIMIT: Features = Features(1 << 6);
    pub const ORDER_BY: Features = Features(1 << 7);
    pub const TOP: Features = Features(1 << 8);
    pub const NON_VALUE_AGGREGATE: Features = Features(1 << 9);
    pub const DISTINCT_COUNT: Features = Features(1 << 10);
    pub const NON_STREAMING_ORDER_BY: Features = Features(1 << 11);
    pub const LIST_AND_SET_AGGREGATE: Features = Features(1 << 12);
    pub const COUNT_IF: Features = Features(1 << 13);
    pub const HYBRID_SEARCH: Features = Features(1 << 14);
    pub const WEIGHTED_RANK_FUSION: Features = Features(1 << 15);
    /// Selects the short form of component queries. No plan requires this feature.
    pub const HYBRID_SEARCH_SKIP_ORDER_BY_REWRITE: Features = Features(1 << 16);

    /// Parses the comma-separated names of the header. Unknown names are ignored: a newer client
    /// may support features that no plan uses.
    pub fn parse(header: &str) -> Features {
        let known = |name: &str| {
            NAMES
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
                .map_or(Features::NONE, |(_, feature)| *feature)
        };
        header
            .split(',')
            .map(|name| known(name.trim()))
            .fold(Features::NONE, Features::with)
    }

    #[must_use]
    /// The union of both sets.
    pub fn with(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// This set if the condition holds, else the empty set.
    #[must_use]
    pub(crate) fn when(self, condition: bool) -> Features {
        if condition { self } else { Features::NONE }
    }

    /// Whether this set includes all features of `other`.
    pub fn contains(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }

    /// The set difference of this set and `other`.
    #[must_use]
    pub fn without(self, other: Features) -> Features {
        Features(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Prints the names, separated by spaces.
impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = NAMES
            .iter()
            .filter(|(_, feature)| self.contains(*feature))
            .map(|(name, _)| *name)
            .collect();
        f.write_str(&names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_with_and_without_spaces() {
        let expected = Features::ORDER_BY.with(Features::TOP);
        for header in ["OrderBy,Top", "Top, OrderBy", "OrderBy, Teleport , Top,"] {
            assert_eq!(Features::parse(header), expected, "{header}");
        }
        assert_eq!(Features::parse(""), Features::NONE);
        assert_eq!(expected.to_string(), "OrderBy Top");
    }
}
