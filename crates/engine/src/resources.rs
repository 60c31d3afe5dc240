//! Queries over catalogue resources. These are few and in memory.

use std::time::Duration;

use bytes::Bytes;
use orrery_exec::{Continuation, Flow, InputDocument, PageLimits, PageResult, ResultRow};
use orrery_index::AccessTag;
use orrery_json::parse;
use orrery_model::{Failure, limits};

use crate::query::{PageSchedule, exec_failure, read_continuation, row_text, write_continuation};
use crate::{CompiledQuery, continuation};

/// Reads one page of a query over named bodies, in name order. Returns the rows and the token of
/// the next page.
pub fn query_resources(
    query: &CompiledQuery,
    resources: &[(String, Vec<u8>)],
    items_max: usize,
    token: Option<&str>,
    now_ticks: i64,
) -> Result<(Vec<Bytes>, Option<String>), Failure> {
    let owner = query.bound.fingerprint;
    let resume = read_continuation(owner, token)?.map(|(_, resume)| resume);
    let schedule = PageSchedule::without_lane(Duration::from_secs(limits::EXECUTION_SECONDS_MAX));
    let is_late = || schedule.yield_and_check();
    let page_limits = PageLimits {
        items_max,
        bytes_max: limits::RESPONSE_PAGE_BYTES_MAX,
        deadline: Some(&is_late),
        now_ticks,
        position_bytes_max: continuation::position_bytes(None),
    };
    let finished = page(query, resources, resume, page_limits)?;
    let Some(resume) = finished.continuation else {
        return Ok((texts(finished.rows), None));
    };
    // Clients do not expect an empty last page. A probe for one further row tells whether the token
    // is needed.
    let one_row = PageLimits {
        items_max: 1,
        ..page_limits
    };
    let next = page(query, resources, Some(resume.clone()), one_row)?;
    let token = (!next.rows.is_empty() || next.continuation.is_some())
        .then(|| write_continuation(owner, AccessTag::KEY_ORDER, &resume));
    Ok((texts(finished.rows), token))
}

fn texts(rows: Vec<ResultRow>) -> Vec<Bytes> {
    rows.into_iter().map(row_text).collect()
}

fn page(
    query: &CompiledQuery,
    resources: &[(String, Vec<u8>)],
    resume: Option<Continuation>,
    page_limits: PageLimits<'_>,
) -> Result<PageResult, Failure> {
    let page = query.bound.program.page(resume, page_limits);
    let mut page = page.map_err(|error| exec_failure(&error))?;
    let start = page
        .start_position()
        .map(<[u8]>::to_vec)
        .unwrap_or_default();
    for (number, (name, body)) in (1..).zip(resources) {
        if name.as_bytes() < start.as_slice() {
            continue;
        }
        let value = parse(body).map_err(|error| Failure::Internal(error.to_string()))?;
        let text = Bytes::copy_from_slice(body);
        let document = InputDocument {
            value: &value,
            rid: number,
            text: &text,
            scan_position: name.as_bytes(),
        };
        match page.push(document).map_err(|error| exec_failure(&error))? {
            Flow::More => {}
            Flow::Full => break,
        }
    }
    page.finish().map_err(|error| exec_failure(&error))
}
