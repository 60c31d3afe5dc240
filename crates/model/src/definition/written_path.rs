//! A property path with the spelling of the client.

use orrery_json::{Path, PathError, Value};

/// A path to one property. It is answered exactly as it was written, because clients compare the
/// text; two spellings of the same path (`/a`, `/"a"`) are equal.
#[derive(Debug, Clone)]
pub struct WrittenPath {
    text: String,
    path: Path,
}

impl WrittenPath {
    pub fn parse(text: &str) -> Result<WrittenPath, PathError> {
        Ok(WrittenPath {
            text: text.to_owned(),
            path: Path::parse(text)?,
        })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn to_value(&self) -> Value {
        Value::from(self.text.as_str())
    }
}

impl PartialEq for WrittenPath {
    fn eq(&self, other: &WrittenPath) -> bool {
        self.path == other.path
    }
}

impl Eq for WrittenPath {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_is_kept_and_does_not_count() {
        let plain = WrittenPath::parse("/a/b").unwrap();
        let quoted = WrittenPath::parse(r#"/"a"/b"#).unwrap();
        assert_eq!(plain, quoted);
        assert_eq!(quoted.text(), r#"/"a"/b"#);
        assert!(WrittenPath::parse("/a/*").is_err());
    }
}
