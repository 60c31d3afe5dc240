//! What an operator asks of the physical partitions of a container.

use orrery_json::Value;
use orrery_keys::Epk;
use orrery_model::{Failure, RangeId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionsChange {
    Split(RangeId, SplitAt),
    Merge([RangeId; 2]),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitAt {
    /// In the middle of the data.
    Data,
    /// In the middle of the range of keys.
    Keys,
    Epk(Epk),
}

impl PartitionsChange {
    /// Reads `{"split":{"id":"0","at":"data"}}` or `{"merge":["1","2"]}`.
    pub fn parse(body: &Value) -> Result<PartitionsChange, Failure> {
        let change = split(body.get("split")).or_else(|| merge(body.get("merge")));
        change.ok_or_else(|| {
            Failure::bad_request(
                "One of the input values is invalid. Send {\"split\":{\"id\":\"0\",\"at\":\"data\"}}, where at is \
                 data (the default), keys or an effective partition key in hexadecimal, or {\"merge\":[\"1\",\"2\"]}.",
            )
        })
    }
}

fn split(value: &Value) -> Option<PartitionsChange> {
    let range = range(value.get("id"))?;
    let at = match value.get("at") {
        Value::Undefined => SplitAt::Data,
        Value::String(text) => match text.as_str() {
            "data" => SplitAt::Data,
            "keys" => SplitAt::Keys,
            hex => SplitAt::Epk(Epk::from_hex(hex).ok()?),
        },
        _ => return None,
    };
    Some(PartitionsChange::Split(range, at))
}

fn merge(value: &Value) -> Option<PartitionsChange> {
    let [one, other] = value.as_array()? else {
        return None;
    };
    Some(PartitionsChange::Merge([range(one)?, range(other)?]))
}

fn range(value: &Value) -> Option<RangeId> {
    value.as_str()?.parse().ok().map(RangeId)
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;

    use super::*;

    #[test]
    fn changes_are_read_or_refused() {
        let epk = Epk::from_hex("1F").unwrap();
        for (body, expected) in [
            (
                r#"{"split":{"id":"3"}}"#,
                Some(PartitionsChange::Split(RangeId(3), SplitAt::Data)),
            ),
            (
                r#"{"split":{"id":"3","at":"keys"}}"#,
                Some(PartitionsChange::Split(RangeId(3), SplitAt::Keys)),
            ),
            (
                r#"{"split":{"id":"3","at":"1F"}}"#,
                Some(PartitionsChange::Split(RangeId(3), SplitAt::Epk(epk))),
            ),
            (
                r#"{"merge":["1","2"]}"#,
                Some(PartitionsChange::Merge([RangeId(1), RangeId(2)])),
            ),
            (r#"{"merge":["1"]}"#, None),
            (r#"{"split":{"id":3}}"#, None),
            (r#"{"split":{"id":"3","at":"x"}}"#, None),
            ("{}", None),
            ("[]", None),
        ] {
            let change = PartitionsChange::parse(&parse(body.as_bytes()).unwrap());
            assert_eq!(change.ok(), expected, "{body}");
        }
    }
}
