//! The header in which a server explains a page.

use std::fmt::Write;

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Plan {
    #[serde(rename = "plan")]
    pub(super) steps: Vec<String>,
    pub(super) estimated: Estimated,
    pub(super) actual: Actual,
    pub(super) microseconds: Microseconds,
}

#[derive(Debug, Deserialize)]
pub(super) struct Estimated {
    pub(super) entries: u64,
    pub(super) documents: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Actual {
    pub(super) entries: u64,
    pub(super) documents: u64,
    pub(super) rows: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Microseconds {
    pub(super) compile: u64,
    pub(super) plan: u64,
    pub(super) index: u64,
    pub(super) load: u64,
    pub(super) total: u64,
}

impl Plan {
    pub(super) fn read(header: &str) -> Result<Plan> {
        let json = percent_decoded(header).ok_or_else(|| anyhow!("a broken escape"));
        json.and_then(|json| Ok(serde_json::from_slice(&json)?))
            .context("cannot read the plan that the server sent")
    }
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let pair = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    Some(bytes)
}

/// A name as a segment of a path.
pub(super) fn percent_encoded(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_back() {
        for (name, expected) in [("a-b", "a-b"), ("a b/é", "a%20b%2F%C3%A9")] {
            assert_eq!(percent_encoded(name), expected);
            assert_eq!(percent_decoded(expected).unwrap(), name.as_bytes());
        }
        for broken in ["%", "%4", "%zz"] {
            assert_eq!(percent_decoded(broken), None);
        }
    }

    #[test]
    fn a_plan_that_is_none_is_an_error() {
        let error = Plan::read("%7B%7D").unwrap_err();
        assert!(error.to_string().contains("cannot read the plan"));
    }
}
