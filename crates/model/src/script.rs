//! Scripts of a container: stored procedures, triggers and user-defined functions.

use orrery_keys::{ChildKind, ChildRid};

use crate::Etag;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScriptKind {
    StoredProcedure,
    Trigger,
    Function,
}

/// A registered script. Its body is stored as sent, and compiled when it runs.
#[derive(Debug, Clone)]
pub struct Script {
    pub rid: ChildRid,
    pub kind: ScriptKind,
    pub id: String,
    pub body: String,
    pub etag: Etag,
    pub modified_seconds: u64,
    /// Present for triggers only.
    pub trigger: Option<TriggerSettings>,
}

/// When a trigger may run, with the client's spelling, which answers repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerSettings {
    pub timing: TriggerTiming,
    pub timing_text: String,
    pub operation: TriggerOperation,
    pub operation_text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerTiming {
    Pre,
    Post,
}

/// The operations for which a trigger is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerOperation {
    All,
    Create,
    /// Replaces and upserts.
    Update,
    Delete,
    Replace,
    Upsert,
}

impl ScriptKind {
    pub const ALL: [ScriptKind; 3] = [
        ScriptKind::StoredProcedure,
        ScriptKind::Trigger,
        ScriptKind::Function,
    ];

    /// The kind of a script's resource id.
    pub fn child_kind(self) -> ChildKind {
        match self {
            ScriptKind::StoredProcedure => ChildKind::StoredProcedure,
            ScriptKind::Trigger => ChildKind::Trigger,
            ScriptKind::Function => ChildKind::UserDefinedFunction,
        }
    }

    /// The number of scripts of this kind that a container may have.
    pub fn count_max(self) -> usize {
        match self {
            ScriptKind::StoredProcedure => crate::limits::STORED_PROCEDURES_MAX,
            ScriptKind::Trigger => crate::limits::TRIGGERS_MAX,
            ScriptKind::Function => crate::limits::FUNCTIONS_MAX,
        }
    }
}

impl TriggerSettings {
    /// Parses the words of a client, in any case. None if a word is unknown.
    pub fn read(timing_text: &str, operation_text: &str) -> Option<TriggerSettings> {
        Some(TriggerSettings {
            timing: find(&TriggerTiming::NAMES, timing_text)?,
            timing_text: timing_text.to_owned(),
            operation: find(&TriggerOperation::NAMES, operation_text)?,
            operation_text: operation_text.to_owned(),
        })
    }
}

impl TriggerTiming {
    const NAMES: [(&'static str, TriggerTiming); 2] =
        [("Pre", TriggerTiming::Pre), ("Post", TriggerTiming::Post)];
}

impl TriggerOperation {
    const NAMES: [(&'static str, TriggerOperation); 6] = [
        ("All", TriggerOperation::All),
        ("Create", TriggerOperation::Create),
        ("Update", TriggerOperation::Update),
        ("Delete", TriggerOperation::Delete),
        ("Replace", TriggerOperation::Replace),
        ("Upsert", TriggerOperation::Upsert),
    ];
}

fn find<T: Copy>(names: &[(&str, T)], text: &str) -> Option<T> {
    let mut names = names.iter();
    let (_, value) = names.find(|(name, _)| name.eq_ignore_ascii_case(text))?;
    Some(*value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_case_and_kept() {
        let settings = TriggerSettings::read("pre", "ALL").unwrap();
        assert_eq!(settings.timing, TriggerTiming::Pre);
        assert_eq!(settings.operation, TriggerOperation::All);
        assert_eq!(settings.operation_text, "ALL");
        assert_eq!(TriggerSettings::read("before", "All"), None);
        assert_eq!(TriggerSettings::read("Post", ""), None);
    }
}
