//! Names of sources, and subqueries that only filter a source.

use crate::ast::{Collection, Expr, FromSource, PathStep, Projection, Query};

impl Query {
    /// The single source whose values are the rows of this query, if the query only filters that
    /// source: `SELECT * FROM x WHERE ...` and `SELECT VALUE x FROM x WHERE ...`.
    ///
    /// In a `FROM` clause, the alias of such a query stands for the source itself.
    pub fn filtered_source(&self) -> Option<&FromSource> {
        let [source @ FromSource::Value { .. }] = self.from.as_slice() else {
            return None;
        };
        // Any other clause changes the rows or their order.
        let is_bare = !self.select.distinct
            && self.select.top.is_none()
            && self.group_by.is_empty()
            && self.order_by.is_none()
            && self.offset_limit.is_none();
        let is_same = match &self.select.projection {
            Projection::Star(_) => true,
            // `SELECT VALUE x` of another name would read an outer value.
            Projection::Value(Expr::Identifier(name)) => source.alias() == Some(&*name.name),
            Projection::Value(_) | Projection::Items(_) => false,
        };
        (is_bare && is_same).then_some(source)
    }
}

impl FromSource {
    /// The name of the source: `FROM c.a.b` binds `b`, and `FROM c[0]` binds nothing.
    pub fn alias(&self) -> Option<&str> {
        match self {
            FromSource::Elements { alias, .. }
            | FromSource::Value {
                alias: Some(alias), ..
            } => Some(&alias.name),
            FromSource::Value {
                collection: Collection::Path { root, steps },
                alias: None,
            } => match steps.last() {
                None => Some(&root.name),
                Some(PathStep::Name(name)) => Some(name),
                Some(PathStep::Key(..) | PathStep::Index(_)) => None,
            },
            FromSource::Value {
                collection: Collection::Subquery(_),
                alias: None,
            } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::{Collection, FromSource};

    #[test]
    fn what_does_nothing_but_filter_is_told_apart() {
        for (subquery, expected) in [
            ("SELECT * FROM c", true),
            ("SELECT * FROM root c WHERE c.a > 1", true),
            ("SELECT VALUE c FROM c WHERE c.a > 1", true),
            ("SELECT VALUE b FROM c.a.b", true),
            ("SELECT * FROM (SELECT * FROM c) x", true),
            ("SELECT VALUE c.a FROM c", false),
            ("SELECT VALUE d FROM c", false),
            ("SELECT c FROM c", false),
            ("SELECT DISTINCT VALUE c FROM c", false),
            ("SELECT VALUE c FROM c GROUP BY c", false),
            ("SELECT VALUE t FROM t IN c.t", false),
            ("SELECT VALUE c FROM c JOIN t IN c.t", false),
            ("SELECT 1", false),
        ] {
            let query = crate::parse(&format!("SELECT * FROM ({subquery}) s")).expect(subquery);
            let FromSource::Value {
                collection: Collection::Subquery(inner),
                ..
            } = &query.from[0]
            else {
                panic!("no subquery: {subquery}");
            };
            assert_eq!(inner.filtered_source().is_some(), expected, "{subquery}");
        }
    }
}
