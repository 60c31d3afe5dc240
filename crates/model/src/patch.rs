//! A patch: up to ten operations on the properties of one item, applied as one.

use orrery_json::Value;

#[derive(Debug, Clone)]
pub struct Patch {
    pub operations: Vec<PatchOperation>,
    /// `from c where …`. The patch is refused if the condition is false.
    pub condition: Option<String>,
}

#[derive(Debug, Clone)]
pub struct PatchOperation {
    pub path: JsonPointer,
    pub action: PatchAction,
}

#[derive(Debug, Clone)]
pub enum PatchAction {
    Add(Value),
    Set(Value),
    Replace(Value),
    Remove,
    Increment(orrery_json::Number),
    Move { from: JsonPointer },
}

/// A JSON pointer: names and array indexes from the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPointer {
    pub segments: Vec<String>,
}

impl JsonPointer {
    /// Parses `/a/0/b~1c`. `~1` stands for `/` and `~0` for `~`.
    pub fn parse(text: &str) -> Option<JsonPointer> {
        let rest = text.strip_prefix('/')?;
        let segments: Vec<String> = rest
            .split('/')
            // This order is that of RFC 6901: `~01` must become `~1`.
            .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
            .collect();
        segments
            .iter()
            .all(|segment| !segment.is_empty())
            .then_some(JsonPointer { segments })
    }
}
