//! Queries over resources of the catalogue: there are few, and they are in memory.

use std::time::Duration;

use bytes::Bytes;
use orrery_exec::{Document, Flow, PageLimits};
use orrery_index::AccessTag;
use orrery_json::parse;
use orrery_model::{Failure, limits};

use crate::CompiledQuery;
use crate::query::{Pace, read_resume, row_text, stopped, write_resume};

/// One page of a query over named bodies, in the order of their names. Gives the rows and the
/// token of the next page.
pub fn query_resources(
    query: &CompiledQuery,
    resources: &[(String, Vec<u8>)],
    items_max: usize,
    token: Option<&str>,
    now_ticks: i64,
) -> Result<(Vec<Bytes>, Option<String>), Failure> {
    let owner = query.bound.fingerprint;
    let resume = read_resume(owner, token)?.map(|(_, resume)| resume);
    let bytes_max = limits::RESPONSE_PAGE_BYTES_MAX;
    let pace = Pace::alone(Duration::from_secs(limits::EXECUTION_SECONDS_MAX));
    let is_late = || pace.is_over();
    let page_limits = PageLimits {
        items_max,
        bytes_max,
        deadline: Some(&is_late),
        now_ticks,
    };
    let page = query.bound.program.page(resume, page_limits);
    let mut page = page.map_err(|error| stopped(&error))?;
    let start = page.start_place().map(<[u8]>::to_vec).unwrap_or_default();
    for (number, (name, body)) in (1..).zip(resources) {
        if name.as_bytes() < start.as_slice() {
            continue;
        }
        let value = parse(body).map_err(|error| Failure::Internal(error.to_string()))?;
        let text = Bytes::copy_from_slice(body);
        let document = Document {
            value: &value,
            rid: number,
            text: &text,
            place: name.as_bytes(),
        };
        match page.push(document).map_err(|error| stopped(&error))? {
            Flow::More => {}
            Flow::Full => break,
        }
    }
    let finished = page.finish().map_err(|error| stopped(&error))?;
    let token = finished
        .resume
        .map(|resume| write_resume(owner, AccessTag::PLACE_ORDER, &resume));
    Ok((finished.rows.into_iter().map(row_text).collect(), token))
}
