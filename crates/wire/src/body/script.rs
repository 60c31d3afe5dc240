//! Stored procedures, triggers and user-defined functions, and the arguments of a procedure.

use orrery_json::{Object, Value};
use orrery_model::{Failure, Script, ScriptKind, TriggerSettings};

use super::container::container_self_link;
use super::database::id_of;
use super::{ObjectWriter, parse_body};
use crate::path::script_keyword;

/// The body that creates or replaces a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRequest {
    pub id: String,
    pub body: String,
    /// Present for triggers only.
    pub trigger: Option<TriggerSettings>,
}

impl ScriptRequest {
    pub fn parse(kind: ScriptKind, body: &[u8]) -> Result<ScriptRequest, Failure> {
        let body = parse_body(body)?;
        let id = id_of(&body)?.to_owned();
        let required = |name: &'static str| {
            body.get(name)
                .as_str()
                .filter(|text| !text.is_empty())
                .ok_or(Failure::MissingProperty(name))
        };
        let text = required("body")?.to_owned();
        let trigger = match kind {
            ScriptKind::Trigger => Some(trigger_settings(
                required("triggerType")?,
                required("triggerOperation")?,
            )?),
            ScriptKind::StoredProcedure | ScriptKind::Function => None,
        };
        Ok(ScriptRequest {
            id,
            body: text,
            trigger,
        })
    }
}

/// The time and the operations of a trigger.
fn trigger_settings(timing: &str, operation: &str) -> Result<TriggerSettings, Failure> {
    TriggerSettings::read(timing, operation).ok_or_else(|| {
        Failure::BadRequest(format!(
            "One of the input values is invalid. A trigger has the type Pre or Post and the operation \
             All, Create, Update, Delete, Replace or Upsert; these are '{timing}' and '{operation}'."
        ))
    })
}

/// The body of a script. Answers repeat the client's spelling of trigger settings.
pub fn script_body(script: &Script) -> Vec<u8> {
    let body = ObjectWriter::new()
        .text("id", &script.id)
        .text("body", &script.body);
    let body = match &script.trigger {
        Some(settings) => body
            .text("triggerOperation", &settings.operation_text)
            .text("triggerType", &settings.timing_text),
        None => body,
    };
    body.display("_rid", script.rid)
        .text("_self", &script_self_link(script))
        .text("_etag", script.etag.as_str())
        .literal("_ts", script.modified_seconds)
        .finish()
}

/// The link of a script by resource ids.
fn script_self_link(script: &Script) -> String {
    let parent = container_self_link(script.rid.container());
    let keyword = script_keyword(script.kind);
    format!("{parent}{keyword}/{}/", script.rid)
}

/// The most arguments of a procedure: the limit of the JavaScript engine for any function.
const ARGUMENTS_MAX: u32 = 65_534;

/// Parses the arguments of a stored procedure. SDKs without arguments send an empty body or `null`.
/// An object is treated as `Function.prototype.apply` treats it: as a list with a `length`.
pub fn parse_arguments(body: &[u8]) -> Result<Vec<Value>, Failure> {
    if body.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    match parse_body(body)? {
        Value::Null => Ok(Vec::new()),
        Value::Array(arguments) => Ok(arguments.into_iter().collect()),
        Value::Object(list) => array_like(&list),
        _ => Err(Failure::bad_request(
            "One of the input values is invalid. The arguments of a stored procedure are a JSON array.",
        )),
    }
}

/// The arguments up to the last present one; undefined arguments after it are left out.
fn array_like(list: &Object) -> Result<Vec<Value>, Failure> {
    let length = match list.get("length") {
        Some(Value::Number(length)) => length.as_f64(),
        Some(Value::String(length)) => length.trim().parse().unwrap_or_default(),
        Some(Value::Bool(true)) => 1.0,
        _ => 0.0,
    };
    if length >= f64::from(ARGUMENTS_MAX + 1) {
        return Err(Failure::BadRequest(format!(
            "One of the input values is invalid. A stored procedure has {ARGUMENTS_MAX} arguments at \
             most; the length of these is {length}."
        )));
    }
    // Only present indexes are counted: a huge `length` must not allocate a huge list.
    let names = list.iter().filter_map(|(name, _)| name.parse().ok());
    let present = names.filter(|index: &u32| *index < ARGUMENTS_MAX);
    let count = present.max().map_or(0, |last| last + 1);
    let arguments = (0..count)
        // A fractional length counts down to its integer part, as in JavaScript.
        .take_while(|index| f64::from(index + 1) <= length)
        .map(|index| list.get(&index.to_string()).cloned().unwrap_or_default());
    Ok(arguments.collect())
}

#[cfg(test)]
mod tests {
    use orrery_keys::{ChildRid, ContainerRid, DatabaseRid};
    use orrery_model::Etag;

    use super::*;

    #[test]
    fn scripts_read_and_write() {
        let container = ContainerRid::new(DatabaseRid::new(1), 2);
        for (kind, keyword, settings) in [
            (ScriptKind::StoredProcedure, "sprocs", ""),
            (ScriptKind::Function, "udfs", ""),
            (
                ScriptKind::Trigger,
                "triggers",
                r#","triggerOperation":"all","triggerType":"Pre""#,
            ),
        ] {
            let sent = format!(r#"{{"id":"s","body":"() => \"a\""{settings}}}"#);
            let request = ScriptRequest::parse(kind, sent.as_bytes()).unwrap();
            let script = Script {
                rid: ChildRid::new(container, kind.child_kind(), 3),
                kind,
                id: request.id,
                body: request.body,
                etag: Etag::from_stored("\"e\""),
                modified_seconds: 5,
                trigger: request.trigger,
            };
            let rid = script.rid;
            let link = container_self_link(container);
            let expected = format!(
                r#"{{"id":"s","body":"() => \"a\""{settings},"_rid":"{rid}","_self":"{link}{keyword}/{rid}/","_etag":"\"e\"","_ts":5}}"#
            );
            assert_eq!(String::from_utf8(script_body(&script)).unwrap(), expected);
        }
    }

    #[test]
    fn incomplete_scripts_are_refused() {
        use ScriptKind::{StoredProcedure, Trigger};
        for (kind, body, name) in [
            (StoredProcedure, r#"{"body":"f"}"#, "id"),
            (StoredProcedure, r#"{"id":"s"}"#, "body"),
            (StoredProcedure, r#"{"id":"s","body":""}"#, "body"),
            (StoredProcedure, r#"{"id":"s","body":1}"#, "body"),
            (Trigger, r#"{"id":"t","body":"f"}"#, "triggerType"),
            (
                Trigger,
                r#"{"id":"t","body":"f","triggerType":"Pre"}"#,
                "triggerOperation",
            ),
        ] {
            let failure = ScriptRequest::parse(kind, body.as_bytes()).unwrap_err();
            assert_eq!(failure, Failure::MissingProperty(name), "{body}");
        }
        let body = br#"{"id":"t","body":"f","triggerType":"Before","triggerOperation":"All"}"#;
        let failure = ScriptRequest::parse(Trigger, body).unwrap_err();
        assert!(failure.to_string().contains("'Before'"));
    }

    #[test]
    fn arguments_are_an_array_or_nothing() {
        for (body, count) in [
            ("", Some(0)),
            (" ", Some(0)),
            ("null", Some(0)),
            ("[]", Some(0)),
            (r#"["a",1]"#, Some(2)),
            ("[[1,2]]", Some(1)),
            ("{}", Some(0)),
            (r#"{"0":4}"#, Some(0)),
            (r#"{"0":4,"length":1.5}"#, Some(1)),
            (r#"{"0":4,"2":5,"1":6,"length":"2"}"#, Some(2)),
            (r#"{"0":4,"2":5,"length":3}"#, Some(3)),
            (r#"{"0":4,"length":-1}"#, Some(0)),
            (r#"{"0":4,"length":10000}"#, Some(1)),
            (r#"{"0":4,"length":600000}"#, None),
            (r#"{"0":4,"length":1e9}"#, None),
            ("1", None),
            ("[1", None),
        ] {
            let arguments = parse_arguments(body.as_bytes());
            assert_eq!(arguments.ok().map(|list| list.len()), count, "{body}");
        }
    }
}
