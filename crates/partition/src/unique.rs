//! Unique keys: one row for each constraint and document, within the logical partition.
//!
//! ```text
//! logical partition | SHA-256 of the constraint's number and its values -> id
//! ```

use bytes::Bytes;
use orrery_json::{Value, write_value};
use orrery_model::UniqueKey;
use sha2::{Digest as _, Sha256};

use crate::stored_item::Digest;

/// The digests of a document's values under the constraints of its container.
///
/// A missing value counts as null, so two documents without the value conflict.
pub(crate) fn digests(constraints: &[UniqueKey], document: &Value) -> Vec<Digest> {
    let digest = |(number, constraint): (u64, &UniqueKey)| {
        let mut text = number.to_le_bytes().to_vec();
        for path in &constraint.paths {
            match path.path().value_in(document) {
                Value::Undefined => write_value(&Value::Null, &mut text),
                value => write_value(value, &mut text),
            }
            // A separator byte, so that values of neighbouring paths cannot be joined differently.
            text.push(0);
        }
        Sha256::digest(&text).into()
    };
    (0..).zip(constraints).map(digest).collect()
}

pub(crate) fn entry_key(logical_prefix: &[u8], digest: &Digest) -> Bytes {
    [logical_prefix, digest].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orrery_json::parse;
    use orrery_model::VerbatimPath;

    #[test]
    fn missing_is_null_and_constraints_are_apart() {
        let key = |paths: &[&str]| UniqueKey {
            paths: paths
                .iter()
                .map(|path| VerbatimPath::parse(path).unwrap())
                .collect(),
        };
        let constraints = [key(&["/a", "/b/c"]), key(&["/a"])];
        let of = |text: &str| digests(&constraints, &parse(text.as_bytes()).unwrap());
        assert_eq!(of(r#"{"a":1}"#), of(r#"{"a":1.0,"b":{"c":null}}"#));
        assert_ne!(of(r#"{"a":1}"#)[0], of(r#"{"a":"1"}"#)[0]);
        assert_ne!(of("{}")[0], of("{}")[1]);
        let bytes = b"\x01\0\0\0\0\0\0\0null\0";
        assert_eq!(of("{}")[1], Digest::from(Sha256::digest(bytes)));
    }
}
