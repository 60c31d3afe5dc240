//! Orders that need an index are refused without it, as the service does.

use orrery_model::{
    CompositePath, ContainerDefinition, Failure, IndexStep, IndexingPolicy, PlaceStep, SortOrder,
};
use orrery_sql::ast::{
    self, Collection, Direction, Expr, Literal, OrderBy, PathStep, Query, Source,
};

/// Refuses a query whose order the container's policy does not serve.
pub(crate) fn check_query(definition: &ContainerDefinition, query: &Query) -> Result<(), Failure> {
    let Some(OrderBy::Items(items)) = &query.order_by else {
        return Ok(());
    };
    // Orders over groups, iterations and computed properties are not those of stored paths.
    let Some(prefix) = root(query).filter(|_| query.group_by.is_empty()) else {
        return Ok(());
    };
    let item = |item: &'_ ast::OrderItem| {
        let mut place = prefix.clone();
        walk(&item.expr, &mut place)?;
        let order = match item.direction {
            Some(Direction::Descending) => SortOrder::Descending,
            Some(Direction::Ascending) | None => SortOrder::Ascending,
        };
        Some((place, order))
    };
    let Some(items) = items.iter().map(item).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let is_computed = |(place, _): &(Vec<String>, SortOrder)| {
        definition
            .computed
            .iter()
            .any(|computed| place.first() == Some(&computed.name))
    };
    if items.iter().any(is_computed) {
        return Ok(());
    }
    let items: Vec<_> = items
        .iter()
        .map(|(place, order)| OrderItem {
            place: steps(place),
            order: *order,
        })
        .collect();
    check(&definition.indexing, &items)
}

/// The path of the container's documents that the first source reads.
fn root(query: &Query) -> Option<Vec<String>> {
    let Some(Source::Value {
        collection: Collection::Path { steps, .. },
        ..
    }) = query.from.first()
    else {
        return None;
    };
    let step = |step: &PathStep| match step {
        PathStep::Name(name) | PathStep::Key(name) => name.clone(),
        PathStep::Index(_) => ELEMENT.to_owned(),
    };
    Some(steps.iter().map(step).collect())
}

/// Stands for an element of an array among the names of a place; no property has this name.
const ELEMENT: &str = "\0";

/// Appends the steps of a path expression; none if it is something else.
fn walk(expr: &Expr, place: &mut Vec<String>) -> Option<()> {
    match expr {
        Expr::Identifier(_) => {}
        Expr::Member { object, name } => {
            walk(object, place)?;
            place.push(name.clone());
        }
        Expr::Index { object, index } => {
            walk(object, place)?;
            place.push(match index.as_ref() {
                Expr::Literal(Literal::String(name)) => name.clone(),
                Expr::Literal(Literal::Number(_)) => ELEMENT.to_owned(),
                _ => return None,
            });
        }
        _ => return None,
    }
    Some(())
}

fn steps(place: &[String]) -> Vec<PlaceStep<'_>> {
    let names = place.iter().map(String::as_str);
    names
        .map(|name| {
            if name == ELEMENT {
                PlaceStep::Element
            } else {
                PlaceStep::Property(name)
            }
        })
        .collect()
}

/// One item of `ORDER BY`: where its value is in a document, and its direction.
struct OrderItem<'a> {
    place: Vec<PlaceStep<'a>>,
    order: SortOrder,
}

/// One property needs a range index, several need a composite index of just these.
fn check(policy: &IndexingPolicy, items: &[OrderItem<'_>]) -> Result<(), Failure> {
    match items {
        [] => Ok(()),
        [item] if policy.covers(&item.place) => Ok(()),
        [_] => Err(Failure::bad_request(
            "The order-by item requires a range index to be defined on the corresponding index path.",
        )),
        items if policy.composite.iter().any(|index| serves(index, items)) => Ok(()),
        _ => Err(Failure::bad_request(
            "The order by query does not have a corresponding composite index that it can be served from.",
        )),
    }
}

/// The same paths in the same sequence, and all directions the same or all reversed.
fn serves(index: &[CompositePath], items: &[OrderItem<'_>]) -> bool {
    let same_paths = index.len() == items.len()
        && index
            .iter()
            .zip(items)
            .all(|(path, item)| is_at(path, &item.place));
    let forward = index
        .iter()
        .zip(items)
        .filter(|(path, item)| path.order == item.order)
        .count();
    same_paths && (forward == items.len() || forward == 0)
}

fn is_at(path: &CompositePath, place: &[PlaceStep<'_>]) -> bool {
    let steps = path.path.steps().iter().map(|step| match step {
        IndexStep::Property(name) => PlaceStep::Property(name),
        IndexStep::Elements => PlaceStep::Element,
    });
    steps.eq(place.iter().copied())
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
            let items = items.iter().map(|(path, order)| OrderItem {
                place: path.split('/').map(PlaceStep::Property).collect(),
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
