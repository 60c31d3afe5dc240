//! Full text: which paths hold prose, in which language, and which of them are indexed.

use orrery_json::Value;

use super::fields::{Fields, object, refused};
use super::written_path::WrittenPath;
use crate::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTextPolicy {
    pub default_language: String,
    pub paths: Vec<FullTextPath>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTextPath {
    pub path: WrittenPath,
    /// Absent where the default language of the policy counts.
    pub language: Option<String>,
}

const LANGUAGES: [&str; 1] = ["en-US"];

impl FullTextPolicy {
    pub(super) fn parse(body: &Fields<'_>) -> Result<Option<FullTextPolicy>, Failure> {
        let Some(policy) = body.object("fullTextPolicy")? else {
            return Ok(None);
        };
        let default_language = language(&policy, "defaultLanguage")?;
        let mut paths: Vec<FullTextPath> = Vec::new();
        for fields in policy.objects("fullTextPaths")?.unwrap_or_default() {
            let path = parse_path(&fields)?;
            if paths.iter().any(|other| other.path == path.path) {
                return Err(refused(format!(
                    "Duplicate Path :{} found in Full Text Policy.",
                    path.path.text()
                )));
            }
            paths.push(path);
        }
        Ok(Some(FullTextPolicy {
            default_language: default_language.unwrap_or_else(|| LANGUAGES[0].to_owned()),
            paths,
        }))
    }

    pub(super) fn to_value(&self) -> Value {
        let path = |path: &FullTextPath| {
            let language = path
                .language
                .as_deref()
                .map_or(Value::Undefined, Value::from);
            object([("path", path.path.to_value()), ("language", language)])
        };
        object([
            (
                "defaultLanguage",
                Value::from(self.default_language.as_str()),
            ),
            (
                "fullTextPaths",
                Value::Array(self.paths.iter().map(path).collect()),
            ),
        ])
    }
}

pub(super) fn parse_indexes(policy: &Fields<'_>) -> Result<Vec<WrittenPath>, Failure> {
    let mut indexes = Vec::new();
    for (number, fields) in policy
        .objects("fullTextIndexes")?
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let text = fields.text("path")?.ok_or_else(|| {
            refused(format!(
                "Missing path in full-text index specification at index ({number})."
            ))
        })?;
        let path = WrittenPath::parse(text).map_err(|_| {
            refused(format!(
                "Full-text index specification at index ({number}) contains invalid path {text}."
            ))
        })?;
        if indexes.contains(&path) {
            return Err(refused(format!(
                "Full-text index specification at index ({number}) repeats the path {text}."
            )));
        }
        indexes.push(path);
    }
    Ok(indexes)
}

/// Every index is for a path of the policy.
pub(super) fn check_indexes(
    indexes: &[WrittenPath],
    policy: Option<&FullTextPolicy>,
) -> Result<(), Failure> {
    let listed = |index: &&WrittenPath| {
        policy.is_some_and(|policy| policy.paths.iter().any(|path| path.path == **index))
    };
    match indexes.iter().find(|index| !listed(index)) {
        None => Ok(()),
        Some(index) => Err(refused(format!(
            "The path of the Full Text Index {} does not match the path specified in the Full \
             Text Policy.",
            index.text()
        ))),
    }
}

fn parse_path(fields: &Fields<'_>) -> Result<FullTextPath, Failure> {
    let text = fields.required_text("path")?;
    let path = WrittenPath::parse(text).map_err(|_| {
        refused(format!(
            "The Full Text Policy contains an invalid Path: {text}."
        ))
    })?;
    Ok(FullTextPath {
        path,
        language: language(fields, "language")?,
    })
}

fn language(fields: &Fields<'_>, property: &str) -> Result<Option<String>, Failure> {
    match fields.text(property)? {
        None => Ok(None),
        Some(text) if LANGUAGES.contains(&text) => Ok(Some(text.to_owned())),
        Some(text) => Err(refused(format!(
            "The Full Text Policy contains an unsupported language {text}. Supported languages \
             are: \"{}\".",
            LANGUAGES.join("\", \"")
        ))),
    }
}
