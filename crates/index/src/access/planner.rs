//! The choice: all rules propose, the cheapest proposal wins.

use super::candidate::{Candidate, Situation};
use super::estimate::Estimator;
use super::filter::{Filter, Term};
use super::rules;
use super::{Access, AccessPlan, AccessRequest, AccessTag, Considered, Estimate, PlanNode};

/// How to find the documents of a query.
///
/// The access meets every document that can give a row; the program still has to test each, except
/// where entries stand for documents.
pub fn plan_access(request: &AccessRequest<'_>) -> AccessPlan {
    plan(request, |_| true).expect("a scan of documents is always proposed")
}

/// The access whose positions mean what they meant to the plan with this tag; none when it is no
/// longer possible, because of another policy or other documents.
pub fn resume_access(request: &AccessRequest<'_>, tag: AccessTag) -> Option<AccessPlan> {
    plan(request, |candidate| candidate.tag == tag)
}

fn plan(
    request: &AccessRequest<'_>,
    is_welcome: impl Fn(&Candidate) -> bool,
) -> Option<AccessPlan> {
    if let Some(named) = rules::propose_named(request).filter(&is_welcome) {
        return Some(planned(named, Vec::new()));
    }
    let filter = Filter::of(&request.narrowing.predicate, request.definition);
    let mut candidates = match filter {
        Some(filter) => candidates(request, filter),
        None => return Some(planned(nothing(), Vec::new())),
    };
    candidates.retain(is_welcome);
    candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let mut candidates = candidates.into_iter();
    let best = candidates.next()?;
    let others = candidates.map(|candidate| Considered {
        node: candidate.node,
        cost: candidate.cost,
    });
    Some(planned(best, others.collect()))
}

/// What all rules propose for a filter that documents can pass.
pub(super) fn candidates(request: &AccessRequest<'_>, mut filter: Filter) -> Vec<Candidate> {
    let estimator = Estimator::of(request.statistics);
    let statistics = request.statistics;
    // A document that was written without entries can only be met by a scan.
    let is_indexed = !request.definition.is_nothing()
        && statistics.indexed_documents() == statistics.documents();
    if is_indexed {
        if let Some(proposals) = guessed(request, &mut filter, &estimator) {
            return proposals;
        }
        filter.measure(&estimator);
    }
    propose(request, &filter, &estimator, is_indexed)
}

/// What the rules propose without a look at entries, if a look could change nothing: it can only
/// tell that a filter of one term has fewer entries, and what reads no others is the best already.
fn guessed(
    request: &AccessRequest<'_>,
    filter: &mut Filter,
    estimator: &Estimator<'_>,
) -> Option<Vec<Candidate>> {
    let [Term::Value(term)] = &mut filter.terms[..] else {
        return None;
    };
    let index = term.index?;
    term.entries = estimator.guess(index, &term.intervals)?;
    let proposals = propose(request, filter, estimator, true);
    let costs = proposals.iter();
    let best = costs.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    best.access.reads_only(index).then_some(proposals)
}

fn propose(
    request: &AccessRequest<'_>,
    filter: &Filter,
    estimator: &Estimator<'_>,
    is_indexed: bool,
) -> Vec<Candidate> {
    let situation = Situation::of(request, filter, estimator);
    let indexed: &[rules::Rule] = if is_indexed { &rules::INDEXED } else { &[] };
    let rules = indexed.iter().chain(&rules::ALWAYS);
    rules.flat_map(|rule| rule(&situation)).collect()
}

fn planned(best: Candidate, considered: Vec<Considered>) -> AccessPlan {
    AccessPlan {
        access: best.access,
        tag: best.tag,
        estimate: best.estimate,
        cost: best.cost,
        root: best.node,
        considered,
    }
}

fn nothing() -> Candidate {
    Candidate {
        access: Access::Nothing,
        tag: AccessTag::PLACE_ORDER,
        estimate: Estimate::default(),
        cost: 0.0,
        node: PlanNode {
            name: "nothing",
            index: None,
            predicate: None,
            detail: None,
            entries: 0,
            documents: 0,
            children: Vec::new(),
        },
    }
}
