//! `ORDER BY RANK`: one query for each score, fused by the client.
//!
//! A full-text score depends on how common its words are everywhere, so the client first adds up
//! statistics of all partitions and puts them into the component queries.

use orrery_sql::ast::{
    BinaryOp, Call, Count, Direction, Expr, Literal, OrderBy, OrderItem, Projection, Query,
    SelectItem,
};

use super::count::Counts;
use super::offset_limit::first;
use super::placeholder;
use super::tree::{aliased, all_of, call, items, object, payload, rid, verbatim};
use crate::bind::rank::{fused, number};
use crate::plan::{HybridInfo, QueryInfo};
use crate::{Features, PlanRequest};

/// Rows of a component that are fused, at the least.
const COMPONENT_ROWS_MIN: u32 = 120;

/// Stands for no score at all, printed as the service prints it.
const FARTHEST: &str = "1.79769e+308";

struct Component {
    score: Expr,
    /// The full-text call that needs statistics.
    statistics: Option<Expr>,
    is_vector: bool,
    /// With a negative weight, the lowest score is the best.
    is_inverted: bool,
}

pub(super) fn plan(request: &PlanRequest<'_>, items: &[OrderItem], counts: &Counts) -> HybridInfo {
    let query = request.query;
    let weights = weights(items);
    let components = components(items, &weights);
    // A client that says nothing of this gets the form that all clients read.
    let is_short_known = request
        .features
        .is_some_and(|features| features.contains(Features::HYBRID_SEARCH_SKIP_ORDER_BY_REWRITE));
    let is_short = is_short_known && components.len() > 1;
    let scores: Vec<Expr> = if is_short_known && !is_short {
        Vec::new()
    } else {
        components
            .iter()
            .map(|component| component.score_or_worst(is_short))
            .collect()
    };
    let component_queries = components
        .iter()
        .map(|component| {
            if is_short {
                short_form(query, component, &scores, counts)
            } else {
                long_form(query, component, &scores, counts)
            }
        })
        .collect();
    HybridInfo {
        global_statistics_query: statistics_query(query, &components).to_string(),
        component_queries,
        component_weights: weights.iter().map(|weight| weight.abs()).collect(),
        skip: counts.offset_limit.map(|(offset, _)| offset),
        take: counts.offset_limit.map(|(_, limit)| limit).or(counts.top),
        requires_global_statistics: components
            .iter()
            .any(|component| component.statistics.is_some()),
    }
}

fn weights(items: &[OrderItem]) -> Vec<f64> {
    match items.first().map(|item| &item.expr) {
        Some(Expr::Call(call)) if is_fusion(call) => fused(call)
            .1
            .unwrap_or_default()
            .iter()
            .filter_map(number)
            .collect(),
        _ => Vec::new(),
    }
}

fn components(items: &[OrderItem], weights: &[f64]) -> Vec<Component> {
    let scores: Vec<&Expr> = match items.first().map(|item| &item.expr) {
        Some(Expr::Call(call)) if is_fusion(call) => fused(call).0.iter().collect(),
        Some(score) => vec![score],
        None => Vec::new(),
    };
    let calls = scores.into_iter().filter_map(|score| match score {
        Expr::Call(call) => Some(call),
        _ => None,
    });
    calls
        .enumerate()
        .map(|(index, score)| {
            let is_inverted = weights.get(index).is_some_and(|weight| *weight < 0.0);
            component(index, score, is_inverted)
        })
        .collect()
}

fn component(index: usize, score: &Call, is_inverted: bool) -> Component {
    if !score.name.name.eq_ignore_ascii_case("FullTextScore") {
        return Component {
            score: call("_VectorScore", score.arguments.clone()),
            statistics: None,
            is_vector: true,
            is_inverted,
        };
    }
    let (path, terms) = match score.arguments.as_slice() {
        [path, Expr::Array(terms)] => (path, terms.as_slice()),
        [path, terms @ ..] => (path, terms),
        [] => unreachable!("the binder counts the arguments of FullTextScore"),
    };
    let hit_counts = terms
        .iter()
        .map(|term| {
            let contains = call("FullTextContains", vec![path.clone(), term.clone()]);
            call("COUNTIF", vec![contains])
        })
        .collect();
    let words = call("_FullTextWordCount", vec![path.clone()]);
    Component {
        score: call(
            "_FullTextScore",
            vec![
                path.clone(),
                Expr::Array(terms.to_vec()),
                placeholder::document_count(),
                placeholder::word_count(index),
                placeholder::hit_counts(index),
            ],
        ),
        statistics: Some(object([
            ("totalWordCount", call("SUM", vec![words])),
            ("hitCounts", Expr::Array(hit_counts)),
        ])),
        is_vector: false,
        is_inverted,
    }
}

impl Component {
    fn direction(&self) -> Direction {
        if self.is_inverted {
            Direction::Ascending
        } else {
            Direction::Descending
        }
    }

    /// Vectors come nearest first without a word.
    fn order_item(&self) -> OrderItem {
        OrderItem {
            expr: self.score.clone(),
            direction: (!self.is_vector || self.is_inverted).then(|| self.direction()),
        }
    }

    /// In the short form all scores are best when highest.
    fn score_or_worst(&self, is_short: bool) -> Expr {
        let worst = match (self.is_inverted, self.is_vector) {
            (true, _) => FARTHEST.to_owned(),
            (false, true) => format!("-{FARTHEST}"),
            (false, false) => "-1".to_owned(),
        };
        let score = Expr::Coalesce {
            left: Box::new(self.score.clone()),
            right: Box::new(verbatim(worst)),
        };
        if !(is_short && self.is_inverted) {
            return score;
        }
        Expr::Binary {
            op: BinaryOp::Multiply,
            left: Box::new(verbatim("-1")),
            right: Box::new(score),
        }
    }
}

fn statistics_query(query: &Query, components: &[Component]) -> Query {
    let one = Expr::Literal(Literal::Number(1.into()));
    let statistics = components
        .iter()
        .filter_map(|component| component.statistics.clone())
        .collect();
    let mut statistics_query = query.clone();
    statistics_query.select.top = None;
    statistics_query.select.distinct = false;
    statistics_query.select.projection = Projection::Items(vec![
        aliased(call("COUNT", vec![one]), "documentCount"),
        aliased(Expr::Array(statistics), "fullTextStatistics"),
    ]);
    statistics_query.filter = None;
    statistics_query.order_by = None;
    statistics_query.offset_limit = None;
    statistics_query
}

fn long_form(query: &Query, component: &Component, scores: &[Expr], counts: &Counts) -> QueryInfo {
    let row = object([
        ("payload", payload(query)),
        ("componentScores", Expr::Array(scores.to_vec())),
    ]);
    let projection = vec![
        rid(query),
        items(std::iter::once(&component.score), "orderByItems"),
        aliased(row, "payload"),
    ];
    let filter = all_of([query.filter.clone(), Some(placeholder::order_by_filter())]);
    let (text, rows) = component_query(query, component, projection, filter, counts);
    let is_paged = counts.offset_limit.is_some();
    QueryInfo {
        top: (!is_paged).then_some(rows),
        offset: is_paged.then_some(0),
        limit: is_paged.then_some(rows),
        order_by: vec![component.direction()],
        order_by_expressions: vec![component.score.to_string()],
        has_non_streaming_order_by: true,
        rewritten_query: text,
        ..QueryInfo::default()
    }
}

fn short_form(query: &Query, component: &Component, scores: &[Expr], counts: &Counts) -> QueryInfo {
    let projection = vec![
        rid(query),
        aliased(payload(query), "payload"),
        aliased(Expr::Array(scores.to_vec()), "componentScores"),
    ];
    let filter = query.filter.clone();
    QueryInfo {
        rewritten_query: component_query(query, component, projection, filter, counts).0,
        ..QueryInfo::default()
    }
}

/// The text, and for how many rows it asks: more than the user does, because the best of the
/// fusion need not be the best of one score.
fn component_query(
    query: &Query,
    component: &Component,
    projection: Vec<SelectItem>,
    filter: Option<Expr>,
    counts: &Counts,
) -> (String, u32) {
    let wanted = match counts.offset_limit {
        Some((offset, limit)) => offset.saturating_add(limit),
        None => counts.top.unwrap_or(0),
    };
    let rows = wanted.saturating_mul(2).max(COMPONENT_ROWS_MIN);
    let mut text = query.clone();
    text.select.distinct = false;
    text.select.projection = Projection::Items(projection);
    text.filter = filter;
    text.order_by = Some(OrderBy::Items(vec![component.order_item()]));
    match counts.offset_limit {
        Some(_) => text.offset_limit = Some(first(rows)),
        None => text.select.top = Some(Count::Literal(rows)),
    }
    (text.to_string(), rows)
}

fn is_fusion(call: &Call) -> bool {
    call.name.name.eq_ignore_ascii_case("RRF")
}
