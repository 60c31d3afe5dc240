//! A property path with the spelling of the client.

use orrery_json::{PathError, PropertyPath, Value};

/// A path to one property. Answers contain the path exactly as the client wrote it, because SDKs
/// compare the text; two spellings of the same path (`/a`, `/"a"`) are equal.
#[derive(Debug, Clone)]
pub struct VerbatimPath {
    text: String,
    path: PropertyPath,
}

impl VerbatimPath {
    pub fn parse(text: &str) -> Result<VerbatimPath, PathError> {
        Ok(VerbatimPath {
            text: text.to_owned(),
            path: PropertyPath::parse(text)?,
        })
    }

    /// The spelling of the client.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parsed path.
    pub fn path(&self) -> &PropertyPath {
        &self.path
    }

    pub(super) fn to_value(&self) -> Value {
        Value::from(self.text.as_str())
    }
}

impl PartialEq for VerbatimPath {
    /// Compares the parsed paths: `/a` and `/"a"` name the same property.
    fn eq(&self, other: &VerbatimPath) -> bool {
        self.path == other.path
    }
}

impl Eq for VerbatimPath {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_is_kept_and_ignored_by_equality() {
        let plain = VerbatimPath::parse("/a/b").unwrap();
        let quoted = VerbatimPath::parse(r#"/"a"/b"#).unwrap();
        assert_eq!(plain, quoted);
        assert_eq!(quoted.text(), r#"/"a"/b"#);
        assert!(VerbatimPath::parse("/a/*").is_err());
    }
}
