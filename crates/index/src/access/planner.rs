//! The planner: all rules propose access paths, and the cheapest wins.

use super::candidate::{Candidate, PlanningContext};
use super::estimate::Estimator;
use super::filter::{Filter, Term};
use super::rules;
use super::{
    AccessPath, AccessPlan, AccessRequest, AccessTag, AlternativePlan, Estimate, PlanNode,
};

/// Selects the access path of a query.
///
/// The access path finds every document that can yield a row. The query program still evaluates its
/// filter on each document, except where entries replace documents.
pub fn plan_access(request: &AccessRequest<'_>) -> AccessPlan {
    plan(request, |_| true).expect("a scan of documents is always proposed")
}

/// Selects the access path with this tag, in which a continuation's position is valid. `None` when
/// the path is no longer possible, because the policy or the documents have changed.
pub fn resume_access(request: &AccessRequest<'_>, tag: AccessTag) -> Option<AccessPlan> {
    plan(request, |candidate| candidate.tag == tag)
}

fn plan(
    request: &AccessRequest<'_>,
    is_welcome: impl Fn(&Candidate) -> bool,
) -> Option<AccessPlan> {
    if let Some(id_lookup) = rules::propose_id_lookup(request).filter(&is_welcome) {
        return Some(planned(id_lookup, Vec::new()));
    }
    let filter = Filter::of(&request.sargable_filter.predicate, request.definition);
    let mut candidates = match filter {
        Some(filter) => candidates(request, filter),
        None => return Some(planned(nothing(), Vec::new())),
    };
    candidates.retain(is_welcome);
    candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let mut candidates = candidates.into_iter();
    let best = candidates.next()?;
    let others = candidates.map(|candidate| AlternativePlan {
        node: candidate.node,
        cost: candidate.cost,
    });
    Some(planned(best, others.collect()))
}

/// The proposals of all rules for a satisfiable filter.
pub(super) fn candidates(request: &AccessRequest<'_>, mut filter: Filter) -> Vec<Candidate> {
    let estimator = Estimator::of(request.statistics);
    let statistics = request.statistics;
    // Indexes cannot find a document that was written without entries. For a query that sees such
    // documents only a scan is complete.
    let is_indexed = !request.definition.is_nothing()
        && (request.only_indexed || statistics.indexed_documents() == statistics.documents());
    if is_indexed {
        if let Some(proposals) = guessed(request, &mut filter, &estimator) {
            return proposals;
        }
        filter.measure(&estimator);
    }
    propose(request, &filter, &estimator, is_indexed)
}

/// The proposals without counting entries, if counting cannot change the choice: for a filter of
/// one term, a count can only lower the number of entries, which makes an access path that reads
/// only this index even cheaper.
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
    let context = PlanningContext::of(request, filter, estimator);
    let indexed: &[rules::AccessRule] = if is_indexed { &rules::INDEXED } else { &[] };
    let rules = indexed.iter().chain(&rules::ALWAYS);
    rules.flat_map(|rule| rule(&context)).collect()
}

fn planned(best: Candidate, considered: Vec<AlternativePlan>) -> AccessPlan {
    AccessPlan {
        access: best.access,
        tag: best.tag,
        estimate: best.estimate,
        cost: best.cost,
        root: best.node,
        alternatives: considered,
    }
}

fn nothing() -> Candidate {
    Candidate {
        access: AccessPath::Nothing,
        tag: AccessTag::KEY_ORDER,
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
