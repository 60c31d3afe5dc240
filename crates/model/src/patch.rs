//! A patch: up to ten operations on the properties of one item, applied together or not at all.

use orrery_json::Value;

#[derive(Debug, Clone)]
pub struct Patch {
    pub operations: Vec<PatchOperation>,
    /// `from c where …`; the patch is refused when it does not hold.
    pub condition: Option<String>,
}

#[derive(Debug, Clone)]
pub struct PatchOperation {
    pub path: Pointer,
    pub action: PatchAction,
}

#[derive(Debug, Clone)]
pub enum PatchAction {
    Add(Value),
    Set(Value),
    Replace(Value),
    Remove,
    Increment(orrery_json::Number),
    Move { from: Pointer },
}

/// A JSON pointer: names and array positions from the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    pub segments: Vec<String>,
}

impl Pointer {
    /// Reads `/a/0/b~1c`; `~1` stands for `/` and `~0` for `~`.
    pub fn parse(text: &str) -> Option<Pointer> {
        let rest = text.strip_prefix('/')?;
        let segments: Vec<String> = rest
            .split('/')
            .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
            .collect();
        segments
            .iter()
            .all(|segment| !segment.is_empty())
            .then_some(Pointer { segments })
    }
}
