//! Refuses an `ORDER BY` that needs a missing index, as the service does.

use orrery_model::{
    CompositePath, ContainerDefinition, DocumentStep, Failure, IndexStep, IndexingPolicy, SortOrder,
};
use orrery_sql::ast::{
    self, Collection, Expr, FromSource, Literal, OrderBy, PathStep, Query, SortDirection,
};

/// Refuses a query whose order the container's indexing policy does not serve.
pub(crate) fn check_query(definition: &ContainerDefinition, query: &Query) -> Result<(), Failure> {
    let Some(OrderBy::Items(items)) = &query.order_by else {
        return Ok(());
    };
    // Orders over groups, iterations and computed properties are not orders of stored paths, and no
    // index serves them.
    let Some(prefix) = root(query).filter(|_| query.group_by.is_empty()) else {
        return Ok(());
    };
    let item = |item: &'_ ast::OrderItem| {
        let mut segments = prefix.clone();
        walk(&item.expr, &mut segments)?;
        let order = match item.direction {
            Some(SortDirection::Descending) => SortOrder::Descending,
            Some(SortDirection::Ascending) | None => SortOrder::Ascending,
        };
        Some((segments, order))
    };
    let Some(items) = items.iter().map(item).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let is_computed = |(segments, _): &(Vec<String>, SortOrder)| {
        definition
            .computed
            .iter()
            .any(|computed| segments.first() == Some(&computed.name))
    };
    if items.iter().any(is_computed) {
        return Ok(());
    }
    let items: Vec<_> = items
        .iter()
        .map(|(segments, order)| OrderByPath {
            path: steps(segments),
            order: *order,
        })
        .collect();
    check(&definition.indexing, &items)
}

/// The path within the container's documents that the first source reads.
fn root(query: &Query) -> Option<Vec<String>> {
    root_of_source(query.from.first()?)
}

fn root_of_source(source: &FromSource) -> Option<Vec<String>> {
    let FromSource::Value { collection, .. } = source else {
        return None;
    };
    let step = |step: &PathStep| match step {
        PathStep::Name(name) | PathStep::Key(name, _) => name.clone(),
        PathStep::Index(_) => ELEMENT.to_owned(),
    };
    match collection {
        Collection::Path { steps, .. } => Some(steps.iter().map(step).collect()),
        Collection::Subquery(query) => query.filtered_source().and_then(root_of_source),
    }
}

/// Stands for an array element among property names; no property has this name.
const ELEMENT: &str = "\0";

/// Appends the steps of a path expression; returns `None` for any other expression.
fn walk(expr: &Expr, segments: &mut Vec<String>) -> Option<()> {
    match expr {
        Expr::Identifier(_) => {}
        Expr::Member { object, name, .. } => {
            walk(object, segments)?;
            segments.push(name.clone());
        }
        Expr::Index { object, index, .. } => {
            walk(object, segments)?;
            segments.push(match index.as_ref() {
                Expr::Literal(Literal::String(name)) => name.clone(),
                Expr::Literal(Literal::Number(_)) => ELEMENT.to_owned(),
                _ => return None,
            });
        }
        _ => return None,
    }
    Some(())
}

fn steps(segments: &[String]) -> Vec<DocumentStep<'_>> {
    let names = segments.iter().map(String::as_str);
    names
        .map(|name| {
            if name == ELEMENT {
                DocumentStep::Element
            } else {
                DocumentStep::Property(name)
            }
        })
        .collect()
}

/// One item of `ORDER BY`: its path in a document, and its direction.
struct OrderByPath<'a> {
    path: Vec<DocumentStep<'a>>,
    order: SortOrder,
}

/// Checks one path against the range indexes, and several paths against the composite indexes.
fn check(policy: &IndexingPolicy, items: &[OrderByPath<'_>]) -> Result<(), Failure> {
    match items {
        [] => Ok(()),
        [item] if policy.covers(&item.path) => Ok(()),
        [_] => Err(Failure::bad_request(
            "The order-by item requires a range index to be defined on the corresponding index path.",
        )),
        items if policy.composite.iter().any(|index| serves(index, items)) => Ok(()),
        _ => Err(Failure::bad_request(
            "The order by query does not have a corresponding composite index that it can be served from.",
        )),
    }
}

/// Whether a composite index has the same paths in the same sequence, with all directions equal or
/// all reversed.
fn serves(index: &[CompositePath], items: &[OrderByPath<'_>]) -> bool {
    let same_paths = index.len() == items.len()
        && index
            .iter()
            .zip(items)
            .all(|(path, item)| is_at(path, &item.path));
    let forward = index
        .iter()
        .zip(items)
        .filter(|(path, item)| path.order == item.order)
        .count();
    same_paths && (forward == items.len() || forward == 0)
}

fn is_at(path: &CompositePath, segments: &[DocumentStep<'_>]) -> bool {
    let steps = path.path.steps().iter().map(|step| match step {
        IndexStep::Property(name) => DocumentStep::Property(name),
        IndexStep::Elements => DocumentStep::Element,
    });
    steps.eq(segments.iter().copied())
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;
    use orrery_model::ContainerDefinition;

    use super::*;
    use SortOrder::{Ascending as Up, Descending as Down};

    #[test]
    fn the_rules_of_single_and_composite_orders() {
        let body = br#"{"id":"c","partitionKey":{"paths":["/pk"]},"indexingPolicy":{
            "includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/x/*"}],
            "compositeIndexes":[[{"path":"/a"},{"path":"/b/c","order":"descending"}]]}}"#;
        let policy = ContainerDefinition::parse(&parse(body).unwrap())
            .unwrap()
            .indexing;
        let is_served = |items: &[(&str, SortOrder)]| {
            let items = items.iter().map(|(path, order)| OrderByPath {
                path: path.split('/').map(DocumentStep::Property).collect(),
                order: *order,
            });
            check(&policy, &items.collect::<Vec<_>>()).is_ok()
        };
        for (items, expected) in [
            (&[][..], true),
            (&[("a", Up)], true),
            (&[("x/y", Down)], false),
            (&[("a", Up), ("b/c", Down)], true),
            (&[("a", Down), ("b/c", Up)], true),
            (&[("a", Up), ("b/c", Up)], false),
            (&[("b/c", Down), ("a", Up)], false),
            (&[("a", Up), ("b/c", Down), ("d", Up)], false),
        ] {
            assert_eq!(is_served(items), expected, "{items:?}");
        }
    }
}
