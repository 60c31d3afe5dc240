//! `ORDER BY RANK`: one query for each score, whose results the client fuses.
//!
//! A full-text score depends on the frequency of its terms in all documents. So the client first
//! sums statistics over all partitions and then inserts the sums into the component queries.

use orrery_sql::ast::{
    BinaryOp, Call, Expr, Literal, OrderBy, OrderItem, Projection, Query, RowCount, SelectItem,
    SortDirection,
};

use super::count::RowCounts;
use super::offset_limit::first;
use super::placeholder;
use super::tree::{aliased, all_of, call, items, object, payload, rid, verbatim};
use crate::bind::rank::fusion_arguments;
use crate::plan::{HybridInfo, QueryInfo};
use crate::{Features, PlanRequest};

/// Minimum number of rows that each component contributes to the fusion.
const COMPONENT_ROWS_MIN: u32 = 120;

/// The score of a document without a score, in the text form of the service.
const FARTHEST: &str = "1.7976900000000001e+308";

struct ScoreComponent {
    score: Expr,
    /// The statistics that a full-text score needs.
    statistics: Option<Expr>,
    is_vector: bool,
    /// A negative weight, which makes the lowest score the best.
    is_inverted: bool,
}

pub(super) fn plan(request: &PlanRequest<'_>, item: &OrderItem, counts: &RowCounts) -> HybridInfo {
    let query = request.query;
    let (scores, weights) = scores(request, item);
    let components = components(&scores, &weights);
    // A client without a features header gets the long form, which every client understands.
    let knows_short_form = request
        .features
        .is_some_and(|features| features.contains(Features::HYBRID_SEARCH_SKIP_ORDER_BY_REWRITE));
    let is_short_form = knows_short_form && components.len() > 1;
    // A single component needs no fusion, so a client that understands the short form needs no
    // component scores.
    let scores: Vec<Expr> = if knows_short_form && !is_short_form {
        Vec::new()
    } else {
        components
            .iter()
            .map(|component| component.score_or_worst(is_short_form))
            .collect()
    };
    let component_queries = components
        .iter()
        .map(|component| {
            if is_short_form {
                short_form(query, component, &scores, counts)
            } else {
                long_form(query, component, &scores, counts)
            }
        })
        .collect();
    HybridInfo {
        global_statistics_query: statistics_query(query, &components).to_string(),
        component_queries,
        // The sign of a weight is expressed by the sort direction of its component.
        component_weights: weights.iter().map(|weight| weight.abs()).collect(),
        skip: counts.offset_limit.map(|(offset, _)| offset),
        take: counts.offset_limit.map(|(_, limit)| limit).or(counts.top),
        requires_global_statistics: components
            .iter()
            .any(|component| component.statistics.is_some()),
    }
}

/// The scores of a rank, and their weights; no weights for a rank without them.
fn scores<'a>(request: &PlanRequest<'a>, item: &'a OrderItem) -> (Vec<&'a Call>, Vec<f64>) {
    let (scores, weights) = match &item.expr {
        Expr::Call(call) if is_fusion(call) => fusion_arguments(call, request.parameters),
        score => (std::slice::from_ref(score), None),
    };
    let calls = scores.iter().filter_map(|score| match score {
        Expr::Call(call) => Some(call),
        _ => None,
    });
    (calls.collect(), weights.unwrap_or_default())
}

/// The components of a rank, with one component for each fused score.
fn components(scores: &[&Call], weights: &[f64]) -> Vec<ScoreComponent> {
    let scores = scores.iter().enumerate();
    scores
        .map(|(index, score)| {
            let is_inverted = weights.get(index).is_some_and(|weight| *weight < 0.0);
            component(index, score, is_inverted)
        })
        .collect()
}

/// Rewrites one score. A full-text score gets placeholders for the statistics of the container.
fn component(index: usize, score: &Call, is_inverted: bool) -> ScoreComponent {
    if !score.name.name.eq_ignore_ascii_case("FullTextScore") {
        return ScoreComponent {
            score: call("_VectorScore", score.arguments.clone()),
            statistics: None,
            is_vector: true,
            is_inverted,
        };
    }
    let [path, terms @ ..] = score.arguments.as_slice() else {
        unreachable!("the binder counts the arguments of FullTextScore")
    };
    let hit_counts = terms
        .iter()
        .map(|term| {
            let contains = call("FullTextContains", vec![path.clone(), term.clone()]);
            call("COUNTIF", vec![contains])
        })
        .collect();
    let words = call("_FullTextWordCount", vec![path.clone()]);
    ScoreComponent {
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

impl ScoreComponent {
    fn direction(&self) -> SortDirection {
        if self.is_inverted {
            SortDirection::Ascending
        } else {
            SortDirection::Descending
        }
    }

    /// The sort key of the component. A vector score without a direction sorts nearest first,
    /// whatever the distance function is.
    fn order_item(&self) -> OrderItem {
        OrderItem {
            expr: self.score.clone(),
            direction: (!self.is_vector || self.is_inverted).then(|| self.direction()),
        }
    }

    /// The score, or the worst possible score for a document without one. The short form negates an
    /// inverted score, so that the highest value is always best.
    fn score_or_worst(&self, is_short_form: bool) -> Expr {
        let worst = match (self.is_inverted, self.is_vector) {
            (true, _) => FARTHEST.to_owned(),
            (false, true) => format!("-{FARTHEST}"),
            (false, false) => "-1".to_owned(),
        };
        let score = Expr::Coalesce {
            left: Box::new(self.score.clone()),
            right: Box::new(verbatim(worst)),
        };
        if !(is_short_form && self.is_inverted) {
            return score;
        }
        Expr::Binary {
            op: BinaryOp::Multiply,
            left: Box::new(verbatim("-1")),
            right: Box::new(score),
        }
    }
}

/// The query for the statistics of all components, which each partition answers with one row.
fn statistics_query(query: &Query, components: &[ScoreComponent]) -> Query {
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
    // The user's filter selects results and does not change how common a term is in the container.
    statistics_query.filter = None;
    statistics_query.order_by = None;
    statistics_query.offset_limit = None;
    statistics_query
}

/// The component query that every client understands: ordered rows with sort key and all scores.
fn long_form(
    query: &Query,
    component: &ScoreComponent,
    scores: &[Expr],
    counts: &RowCounts,
) -> QueryInfo {
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
        top: rows.filter(|_| !is_paged),
        offset: is_paged.then_some(0),
        limit: rows.filter(|_| is_paged),
        order_by: vec![component.direction()],
        order_by_expressions: vec![component.score.to_string()],
        has_non_streaming_order_by: true,
        rewritten_query: text,
        ..QueryInfo::default()
    }
}

/// The component query without `ORDER BY` rewriting. The client merges by the component scores.
fn short_form(
    query: &Query,
    component: &ScoreComponent,
    scores: &[Expr],
    counts: &RowCounts,
) -> QueryInfo {
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

/// The text of the component query and its number of rows, if the user limits them. A component asks
/// for more rows than the user, because the best documents of the fusion need not be the best of a
/// single score.
fn component_query(
    query: &Query,
    component: &ScoreComponent,
    projection: Vec<SelectItem>,
    filter: Option<Expr>,
    counts: &RowCounts,
) -> (String, Option<u32>) {
    let wanted = match counts.offset_limit {
        Some((offset, limit)) => Some(offset.saturating_add(limit)),
        None => counts.top,
    };
    let rows = wanted.map(|wanted| wanted.saturating_mul(2).max(COMPONENT_ROWS_MIN));
    let mut text = query.clone();
    text.select.distinct = false;
    text.select.projection = Projection::Items(projection);
    text.filter = filter;
    text.order_by = Some(OrderBy::Items(vec![component.order_item()]));
    match counts.offset_limit {
        Some(_) => text.offset_limit = rows.map(first),
        None => text.select.top = rows.map(RowCount::Literal),
    }
    (text.to_string(), rows)
}

fn is_fusion(call: &Call) -> bool {
    call.name.name.eq_ignore_ascii_case("RRF")
}
