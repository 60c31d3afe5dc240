//! Property paths in the syntax of container policies: `/a/b`, with quoted segments for unusual
//! names: `/"a-b"/c`, `/'a-b'/c`.

use std::fmt;

use crate::{Value, write_string};

/// A path of property names from the root of a document to one value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PropertyPath {
    segments: Vec<String>,
}

/// The reason why a text is not a property path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("path '{0}' must begin with '/'")]
    NoLeadingSlash(String),
    #[error("path '{0}' has an empty segment")]
    EmptySegment(String),
    #[error("path '{0}' has a quote that is not closed")]
    OpenQuote(String),
    #[error("path '{0}' may not use '*', '?' or '[]'; name one property")]
    Wildcard(String),
}

impl PropertyPath {
    /// Parses `/a/b`, `/"a b"/c` or `/'a b'/c`. Wildcards and array markers are errors.
    pub fn parse(text: &str) -> Result<PropertyPath, PathError> {
        let mut rest = text;
        let mut segments = Vec::new();
        while !rest.is_empty() {
            rest = rest
                .strip_prefix('/')
                .ok_or_else(|| PathError::NoLeadingSlash(text.to_owned()))?;
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
            let (segment, after) = match quote {
                Some(quote) => rest[1..]
                    .split_once(quote)
                    .ok_or_else(|| PathError::OpenQuote(text.to_owned()))?,
                None => rest.find('/').map_or((rest, ""), |end| rest.split_at(end)),
            };
            if segment.is_empty() {
                return Err(PathError::EmptySegment(text.to_owned()));
            }
            if quote.is_none() && (segment == "*" || segment == "?" || segment == "[]") {
                return Err(PathError::Wildcard(text.to_owned()));
            }
            segments.push(segment.to_owned());
            rest = after;
        }
        if segments.is_empty() {
            return Err(PathError::EmptySegment(text.to_owned()));
        }
        Ok(PropertyPath { segments })
    }

    /// A path of literal names, without parsing.
    pub fn of<const N: usize>(segments: [&str; N]) -> PropertyPath {
        PropertyPath {
            segments: segments.map(str::to_owned).to_vec(),
        }
    }

    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// The value at this path; `Undefined` when any step is missing or is not an object.
    pub fn value_in<'a>(&self, root: &'a Value) -> &'a Value {
        self.segments
            .iter()
            .fold(root, |value, segment| value.get(segment))
    }
}

impl fmt::Display for PropertyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            let plain = segment
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_');
            if plain {
                write!(f, "/{segment}")?;
            } else {
                let mut quoted = Vec::new();
                write_string(segment, &mut quoted);
                write!(f, "/{}", String::from_utf8_lossy(&quoted))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn paths_parse_and_find() {
        let document = parse(br#"{"a":{"b":1,"x/y":2},"c":[3]}"#).unwrap();
        for (path, expected) in [
            ("/a/b", "1"),
            (r#"/a/"x/y""#, "2"),
            (r#"/"a"/"b""#, "1"),
            ("/'a'/'x/y'", "2"),
            ("/a/z", ""),
            ("/a/b/c", ""),
            ("/c/0", ""),
        ] {
            let value = PropertyPath::parse(path).unwrap();
            assert_eq!(value.value_in(&document).to_string(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        for path in [
            "", "a", "/", "/a//b", "/a/", r#"/"a"#, "/'a", "/a/*", "/[]/a", r#"/"a"b"#,
        ] {
            assert!(PropertyPath::parse(path).is_err(), "{path}");
        }
    }
}
