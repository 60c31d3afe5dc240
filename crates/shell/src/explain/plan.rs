//! The header in which a server explains a page.

use orrery_client::percent_decoded;
use serde::Deserialize;

use crate::error::Error;

/// The plan of one page, with estimated and measured figures.
#[derive(Debug, Deserialize)]
pub struct Plan {
    #[serde(rename = "plan")]
    pub(super) steps: Vec<String>,
    pub(super) estimated: Estimated,
    pub(super) actual: Actual,
    pub(super) microseconds: Microseconds,
}

/// The figures that the planner expected.
#[derive(Debug, Deserialize)]
pub(super) struct Estimated {
    pub(super) entries: u64,
    pub(super) documents: u64,
}

/// The figures that the execution measured.
#[derive(Debug, Deserialize)]
pub(super) struct Actual {
    pub(super) entries: u64,
    pub(super) documents: u64,
    pub(super) rows: u64,
}

/// The time of each phase on the server.
#[derive(Debug, Deserialize)]
pub(super) struct Microseconds {
    pub(super) compile: u64,
    pub(super) plan: u64,
    pub(super) index: u64,
    pub(super) load: u64,
    pub(super) total: u64,
}

impl Plan {
    /// Parses the header, which is percent-encoded JSON.
    pub(crate) fn read(header: &str) -> Result<Plan, Error> {
        let wrong = |reason: &str| Error::Answer(format!("cannot read the plan: {reason}"));
        let json = percent_decoded(header).ok_or_else(|| wrong("a broken escape"))?;
        serde_json::from_slice(&json).map_err(|error| wrong(&error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_is_none_is_an_error() {
        let error = Plan::read("%7B%7D").unwrap_err();
        assert!(error.to_string().contains("cannot read the plan"));
    }
}
