//! The full text policy: the paths with prose, their language, and the paths that have an index.

use orrery_json::Value;

use super::fields::{DefinitionFields, invalid_input, object};
use super::verbatim_path::VerbatimPath;
use crate::Failure;

/// The policy `fullTextPolicy` of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTextPolicy {
    pub default_language: String,
    pub paths: Vec<FullTextPath>,
}

/// One path with prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTextPath {
    pub path: VerbatimPath,
    /// The language of the path. Without one the path has the default language of the policy.
    pub language: Option<String>,
}

/// The supported languages. The first one is the default.
const LANGUAGES: [&str; 1] = ["en-US"];
/// The number of American English in Windows. The tests of the JavaScript SDK write it.
const ENGLISH_NUMBER: &str = "1033";

impl FullTextPolicy {
    pub(super) fn parse(body: &DefinitionFields<'_>) -> Result<Option<FullTextPolicy>, Failure> {
        let Some(policy) = body.object("fullTextPolicy")? else {
            return Ok(None);
        };
        let default_language = language(&policy, "defaultLanguage")?;
        let fields = policy.objects("fullTextPaths")?.unwrap_or_default();
        let paths: Vec<FullTextPath> = fields.iter().map(parse_path).collect::<Result<_, _>>()?;
        // Two languages for one path would contradict each other.
        let is_repeated = |(index, path): &(usize, &FullTextPath)| {
            paths[..*index].iter().any(|other| other.path == path.path)
        };
        if let Some((_, path)) = paths.iter().enumerate().find(is_repeated) {
            return Err(invalid_input(format!(
                "Duplicate Path :{} found in Full Text Policy.",
                path.path.text()
            )));
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

/// Parses the full-text indexes of an indexing policy. Each path may have one index.
pub(super) fn parse_indexes(policy: &DefinitionFields<'_>) -> Result<Vec<VerbatimPath>, Failure> {
    let mut indexes = Vec::new();
    for (number, fields) in policy
        .objects("fullTextIndexes")?
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let text = fields.text("path")?.ok_or_else(|| {
            invalid_input(format!(
                "Missing path in full-text index specification at index ({number})."
            ))
        })?;
        let path = VerbatimPath::parse(text).map_err(|_| {
            invalid_input(format!(
                "Full-text index specification at index ({number}) contains invalid path {text}."
            ))
        })?;
        if indexes.contains(&path) {
            return Err(invalid_input(format!(
                "Full-text index specification at index ({number}) repeats the path {text}."
            )));
        }
        indexes.push(path);
    }
    Ok(indexes)
}

/// Checks that every index is for a path of the policy.
pub(super) fn check_indexes(
    indexes: &[VerbatimPath],
    policy: Option<&FullTextPolicy>,
) -> Result<(), Failure> {
    let listed = |index: &&VerbatimPath| {
        policy.is_some_and(|policy| policy.paths.iter().any(|path| path.path == **index))
    };
    match indexes.iter().find(|index| !listed(index)) {
        None => Ok(()),
        Some(index) => Err(invalid_input(format!(
            "The path of the Full Text Index {} does not match the path specified in the Full \
             Text Policy.",
            index.text()
        ))),
    }
}

fn parse_path(fields: &DefinitionFields<'_>) -> Result<FullTextPath, Failure> {
    let text = fields.required_text("path")?;
    let path = VerbatimPath::parse(text).map_err(|_| {
        invalid_input(format!(
            "The Full Text Policy contains an invalid Path: {text}."
        ))
    })?;
    Ok(FullTextPath {
        path,
        language: language(fields, "language")?,
    })
}

/// A supported language, in the client's spelling, which answers repeat.
fn language(fields: &DefinitionFields<'_>, property: &str) -> Result<Option<String>, Failure> {
    match fields.text(property)? {
        None => Ok(None),
        Some(text) if LANGUAGES.contains(&text) || text == ENGLISH_NUMBER => {
            Ok(Some(text.to_owned()))
        }
        Some(text) => Err(invalid_input(format!(
            "The Full Text Policy contains an unsupported language {text}. Supported languages \
             are: \"{}\".",
            LANGUAGES.join("\", \"")
        ))),
    }
}
