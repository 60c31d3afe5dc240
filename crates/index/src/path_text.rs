//! Paths in readable form: `/a/[]/b/?`, and `/a ASC, /b DESC` for a composite index.

use orrery_json::{Value, write_string};
use orrery_model::{CompositePath, SortOrder};

use crate::IndexHash;

pub(crate) fn of_composite(paths: &[CompositePath]) -> String {
    let part = |path: &CompositePath| {
        let order = match path.order {
            SortOrder::Ascending => "ASC",
            SortOrder::Descending => "DESC",
        };
        format!("{} {order}", path.path.text())
    };
    paths.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The document path whose value index or spatial index has this hash.
pub(crate) fn find(document: &Value, index: IndexHash) -> Option<String> {
    let mut text = Vec::new();
    descend(document, IndexHash::ROOT, index, &mut text)
        .then(|| String::from_utf8_lossy(&text).into_owned())
}

/// Appends the path to `text` and returns true, or returns false and leaves `text` unchanged.
fn descend(value: &Value, here: IndexHash, index: IndexHash, text: &mut Vec<u8>) -> bool {
    if here == index || here.spatial() == index {
        text.extend_from_slice(b"/?");
        return true;
    }
    let length = text.len();
    let found = match value {
        Value::Object(object) => object.iter().any(|(name, property)| {
            text.truncate(length);
            write_name(name, text);
            descend(property, here.property(name), index, text)
        }),
        Value::Array(array) => array.iter().any(|element| {
            text.truncate(length);
            text.extend_from_slice(b"/[]");
            descend(element, here.element(), index, text)
        }),
        Value::Undefined | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            false
        }
    };
    if !found {
        text.truncate(length);
    }
    found
}

fn write_name(name: &str, text: &mut Vec<u8>) {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_';
    text.push(b'/');
    if !name.is_empty() && name.chars().all(is_plain) {
        text.extend_from_slice(name.as_bytes());
    } else {
        write_string(name, text);
    }
}

#[cfg(test)]
mod tests {
    use orrery_exec::{DocumentPath, PathStep};
    use orrery_json::parse;

    use super::*;

    #[test]
    fn a_path_is_found_by_its_hash() {
        let document = parse(br#"{"a":[1,{"b-c":2}],"d":{"e":3}}"#).unwrap();
        let name = |name: &str| PathStep::Name(name.to_owned());
        for (steps, expected) in [
            (vec![], "/?"),
            (vec![name("a"), PathStep::Element], "/a/[]/?"),
            (
                vec![name("a"), PathStep::Element, name("b-c")],
                r#"/a/[]/"b-c"/?"#,
            ),
            (vec![name("d"), name("e")], "/d/e/?"),
        ] {
            let path = DocumentPath(steps);
            for hash in [IndexHash::of_path(&path), IndexHash::of_spatial(&path)] {
                assert_eq!(find(&document, hash).as_deref(), Some(expected));
            }
        }
        assert_eq!(find(&document, IndexHash(7)), None);
    }
}
