//! Paths of the indexing policy: `/a/"b-c"/[]/d/?`, `/a/*`, `/a/[]/{b, c}/?`.
//!
//!
//! Index paths differ from property paths: they may pass through the elements of an array, name
//! several members of one element, and say whether they mean one value or a whole subtree.

use orrery_json::Value;

use super::fields::invalid_input;
use crate::Failure;

/// A valid path, with the text that the client wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPath {
    text: String,
    steps: Vec<IndexStep>,
    scope: IndexScope,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexStep {
    Property(String),
    /// `[]`: every element of an array.
    Elements,
}

/// The values that a path means at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexScope {
    /// `/?`, or no ending in a policy without endings: the scalar at this path.
    Scalar,
    /// `/*`: every value at this path and below it.
    Subtree,
    /// `/{a, b/c}/?`: several members of the same element. Each member is a list of property names.
    Tuple(Vec<Vec<String>>),
}

/// The endings that the paths of a policy have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// `/?` or `/*` is required: included, excluded and spatial paths.
    Required,
    /// No ending is written, and the scalar is meant: composite paths.
    Implicit,
}

impl IndexPath {
    /// The root with all values below it: `/*`.
    pub(super) fn root() -> IndexPath {
        IndexPath {
            text: "/*".to_owned(),
            steps: Vec::new(),
            scope: IndexScope::Subtree,
        }
    }

    /// The entity tag: `/"_etag"/?`.
    pub(super) fn etag() -> IndexPath {
        IndexPath {
            text: "/\"_etag\"/?".to_owned(),
            steps: vec![IndexStep::Property("_etag".to_owned())],
            scope: IndexScope::Scalar,
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn steps(&self) -> &[IndexStep] {
        &self.steps
    }

    pub fn scope(&self) -> &IndexScope {
        &self.scope
    }

    pub fn is_root(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether both paths mean the same values, whatever their spelling.
    pub(super) fn means(&self, other: &IndexPath) -> bool {
        self.steps == other.steps && self.scope == other.scope
    }

    pub(super) fn parse(text: &str, ending: Ending) -> Result<IndexPath, Failure> {
        // The oldest SDKs write the root in this form.
        if text == "/" && ending == Ending::Required {
            return Ok(IndexPath::root());
        }
        // The parser stops at the first wrong character, and its position goes into the message.
        let mut reader = IndexPathParser { text, position: 0 };
        let (steps, scope) = reader.path(ending).ok_or_else(|| {
            invalid_input(format!(
                "The indexing path '{text}' could not be accepted, failed near position '{}'. \
                 Please ensure that the path is a valid path: names in double quotes unless they \
                 are letters, digits and underscores, {}.",
                reader.position,
                match ending {
                    Ending::Required => "and '/?' or '/*' at its end",
                    Ending::Implicit => "and no '?' or '*'",
                }
            ))
        })?;
        Ok(IndexPath {
            text: text.to_owned(),
            steps,
            scope,
        })
    }

    pub(super) fn to_value(&self) -> Value {
        Value::from(self.text.as_str())
    }
}

struct IndexPathParser<'a> {
    text: &'a str,
    position: usize,
}

impl IndexPathParser<'_> {
    fn path(&mut self, ending: Ending) -> Option<(Vec<IndexStep>, IndexScope)> {
        let mut steps = Vec::new();
        loop {
            if ending == Ending::Implicit && self.rest().is_empty() && !steps.is_empty() {
                return Some((steps, IndexScope::Scalar));
            }
            self.take("/")?;
            if self.take("[]").is_some() {
                // An element follows a property, and another step follows the element.
                if !matches!(steps.last(), Some(IndexStep::Property(_))) {
                    return None;
                }
                // A composite path may pass through at most one array.
                if ending == Ending::Implicit && steps.contains(&IndexStep::Elements) {
                    return None;
                }
                steps.push(IndexStep::Elements);
            } else if ending == Ending::Required && self.rest() == "*" {
                return Some((steps, IndexScope::Subtree));
            } else if ending == Ending::Required && self.rest() == "?" && !steps.is_empty() {
                return Some((steps, IndexScope::Scalar));
            } else if ending == Ending::Required && self.rest().starts_with('{') {
                // A tuple names members of one element, so there is exactly one array before it.
                let one_array = steps
                    .iter()
                    .filter(|step| **step == IndexStep::Elements)
                    .count()
                    == 1;
                if !one_array || steps.last() != Some(&IndexStep::Elements) {
                    return None;
                }
                let members = self.members()?;
                return (self.rest() == "/?").then_some((steps, IndexScope::Tuple(members)));
            } else {
                steps.push(IndexStep::Property(self.name()?));
            }
        }
    }

    /// `{a, b/c}`: at least two members.
    fn members(&mut self) -> Option<Vec<Vec<String>>> {
        self.take("{")?;
        let mut members = Vec::new();
        loop {
            self.skip_spaces();
            let mut names = vec![self.name()?];
            while self.take("/").is_some() {
                names.push(self.name()?);
            }
            members.push(names);
            self.skip_spaces();
            if self.take("}").is_some() {
                return (members.len() > 1).then_some(members);
            }
            self.take(",")?;
        }
    }

    /// A property name: quoted, or of letters, digits and underscores.
    fn name(&mut self) -> Option<String> {
        if self.take("\"").is_some() {
            // An empty name in quotes is refused.
            let end = self.rest().find('"').filter(|end| *end > 0)?;
            let name = self.rest()[..end].to_owned();
            self.position += end + 1;
            return Some(name);
        }
        let plain = |c: char| c.is_alphanumeric() || c == '_';
        let end = self.rest().find(|c| !plain(c)).unwrap_or(self.rest().len());
        let name = self.rest()[..end].to_owned();
        self.position += end;
        (!name.is_empty()).then_some(name)
    }

    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    fn take(&mut self, token: &str) -> Option<()> {
        self.rest()
            .starts_with(token)
            .then(|| self.position += token.len())
    }

    fn skip_spaces(&mut self) {
        while self.take(" ").is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a.[].b` and the ending, so that a row of a table can say what a path means.
    fn meaning(path: &IndexPath) -> String {
        let mut words: Vec<String> = Vec::new();
        for step in path.steps() {
            words.push(match step {
                IndexStep::Property(name) => name.clone(),
                IndexStep::Elements => "[]".to_owned(),
            });
        }
        words.push(match path.scope() {
            IndexScope::Scalar => "?".to_owned(),
            IndexScope::Subtree => "*".to_owned(),
            IndexScope::Tuple(members) => members
                .iter()
                .map(|names| names.join("/"))
                .collect::<Vec<_>>()
                .join("+"),
        });
        words.join(" ")
    }

    #[test]
    fn paths_with_an_ending() {
        for (text, expected) in [
            ("/*", "*"),
            ("/", "*"),
            ("/a/?", "a ?"),
            ("/a/*", "a *"),
            (r#"/"a-b"/c_1/?"#, "a-b c_1 ?"),
            (r#"/"a/b"/*"#, "a/b *"),
            ("/a/[]/b/?", "a [] b ?"),
            ("/a/[]/?", "a [] ?"),
            ("/a/[]/b/[]/*", "a [] b [] *"),
            ("/é/?", "é ?"),
            ("/a/[]/{b, c}/?", "a [] b+c"),
            (r#"/a/[]/{b/c,"d-e"}/?"#, "a [] b/c+d-e"),
        ] {
            let path = IndexPath::parse(text, Ending::Required).unwrap();
            assert_eq!(meaning(&path), expected, "{text}");
        }
    }

    #[test]
    fn paths_without_an_ending() {
        for (text, expected) in [
            ("/a", "a ?"),
            ("/a/b", "a b ?"),
            ("/a/[]/b", "a [] b ?"),
            (r#"/"a b""#, "a b ?"),
        ] {
            let path = IndexPath::parse(text, Ending::Implicit).unwrap();
            assert_eq!(meaning(&path), expected, "{text}");
        }
        for text in [
            "",
            "/",
            "/a/?",
            "/a/*",
            "/*",
            "a",
            "/a/",
            "/a/[]/b/[]/c",
            "/a/[]/{b,c}",
        ] {
            assert!(IndexPath::parse(text, Ending::Implicit).is_err(), "{text}");
        }
    }

    #[test]
    fn a_refused_path_names_the_position() {
        for (text, position) in [
            ("", 0),
            ("a", 0),
            ("/a", 2),
            ("/?", 1),
            ("/a-b/?", 2),
            ("/a//?", 3),
            ("/a/*/b", 3),
            ("/a/?/b", 3),
            ("/[]/a/?", 3),
            ("/a/[]/[]/?", 8),
            ("/a/[0]/?", 3),
            (r#"/"a/?"#, 2),
            (r#"/""/?"#, 2),
            ("/a/{b,c}/?", 3),
            ("/a/[]/b/[]/{c,d}/?", 11),
            ("/a/[]/{b}/?", 9),
            ("/a/[]/{b,c}", 11),
            ("/a/[]/{b,c}/*", 11),
            ("/a/[]/{b,{c,d}}/?", 9),
            ("/a/[]/{b,c/?}/?", 11),
        ] {
            let Err(Failure::BadRequest(message)) = IndexPath::parse(text, Ending::Required) else {
                panic!("{text} was accepted");
            };
            assert!(message.contains("Please ensure that the path"), "{message}");
            assert!(
                message.contains(&format!("position '{position}'")),
                "{text}: {message}"
            );
        }
    }
}
