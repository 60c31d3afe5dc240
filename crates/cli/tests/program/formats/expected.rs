//! What the writer of a fixture noted, as `tests/formats/recorder.py` writes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// Further flags of the server.
    pub(crate) arguments: Vec<String>,
    pub(crate) reads: Vec<Read>,
    pub(crate) writes: Vec<Write>,
    pub(crate) later: Vec<Later>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub(crate) region: Option<String>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) resource: String,
    pub(crate) link: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) body: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    pub(crate) request: Request,
    pub(crate) status: u16,
    #[serde(rename = "match")]
    pub(crate) comparison: Comparison,
    /// Whether the writes change it.
    pub(crate) once: bool,
    pub(crate) answer: Value,
    pub(crate) etag: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Comparison {
    /// Every byte counts that is not white space between values.
    Same,
    /// Objects may have further properties: definitions get some with new versions.
    Includes,
}

/// A write of the reader, and how it must be answered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Write {
    pub(crate) request: Request,
    pub(crate) status: u16,
}

/// The items that the change feeds of a container have after the writes, from where they ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Later {
    pub(crate) requests: Vec<Request>,
    pub(crate) ids: Vec<String>,
}

impl Read {
    /// How an answer differs from the one that was noted.
    pub(crate) fn difference(
        &self,
        status: u16,
        etag: Option<&str>,
        body: &str,
    ) -> Result<(), String> {
        if status != self.status {
            return Err(format!(
                "status {status} instead of {}: {body}",
                self.status
            ));
        }
        if self.etag.is_some() && etag != self.etag.as_deref() {
            return Err(format!("etag {etag:?} instead of {:?}", self.etag));
        }
        if self.answer.is_null() {
            return Ok(());
        }
        let found: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
        let alike = match self.comparison {
            // As text, so that the order of properties counts.
            Comparison::Same => text(&found) == text(&self.answer),
            Comparison::Includes => includes(&found, &self.answer),
        };
        if alike {
            Ok(())
        } else {
            Err(format!("found {found}\n\ninstead of {}", self.answer))
        }
    }
}

fn text(value: &Value) -> String {
    value.to_string()
}

fn includes(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            let mut properties = expected.iter();
            properties
                .all(|(name, value)| found.get(name).is_some_and(|found| includes(found, value)))
        }
        (Value::Array(found), Value::Array(expected)) => {
            let mut pairs = found.iter().zip(expected);
            found.len() == expected.len() && pairs.all(|(found, value)| includes(found, value))
        }
        _ => found == expected,
    }
}
