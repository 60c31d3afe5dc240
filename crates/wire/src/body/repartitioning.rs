//! The order of an operator to split or merge physical partitions.

use orrery_json::Value;
use orrery_keys::Epk;
use orrery_model::{Failure, RangeId};

/// A split of one partition, or a merge of two neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepartitioningRequest {
    Split(RangeId, SplitAt),
    Merge([RangeId; 2]),
}

/// The position of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitAt {
    /// At the middle of the data.
    Data,
    /// At the middle of the key range.
    Keys,
    Epk(Epk),
}

impl RepartitioningRequest {
    /// Parses `{"split":{"id":"0","at":"data"}}` or `{"merge":["1","2"]}`.
    pub fn parse(body: &Value) -> Result<RepartitioningRequest, Failure> {
        let change = split(body.get("split")).or_else(|| merge(body.get("merge")));
        change.ok_or_else(|| {
            Failure::bad_request(
                "One of the input values is invalid. Send {\"split\":{\"id\":\"0\",\"at\":\"data\"}}, where at is \
                 data (the default), keys or an effective partition key in hexadecimal, or {\"merge\":[\"1\",\"2\"]}.",
            )
        })
    }
}

fn split(value: &Value) -> Option<RepartitioningRequest> {
    let range = range(value.get("id"))?;
    let at = match value.get("at") {
        // The middle of the data makes two partitions of about equal size.
        Value::Undefined => SplitAt::Data,
        Value::String(text) => match text.as_str() {
            "data" => SplitAt::Data,
            "keys" => SplitAt::Keys,
            hex => SplitAt::Epk(Epk::from_hex(hex).ok()?),
        },
        _ => return None,
    };
    Some(RepartitioningRequest::Split(range, at))
}

fn merge(value: &Value) -> Option<RepartitioningRequest> {
    let [one, other] = value.as_array()? else {
        return None;
    };
    Some(RepartitioningRequest::Merge([range(one)?, range(other)?]))
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
                Some(RepartitioningRequest::Split(RangeId(3), SplitAt::Data)),
            ),
            (
                r#"{"split":{"id":"3","at":"keys"}}"#,
                Some(RepartitioningRequest::Split(RangeId(3), SplitAt::Keys)),
            ),
            (
                r#"{"split":{"id":"3","at":"1F"}}"#,
                Some(RepartitioningRequest::Split(RangeId(3), SplitAt::Epk(epk))),
            ),
            (
                r#"{"merge":["1","2"]}"#,
                Some(RepartitioningRequest::Merge([RangeId(1), RangeId(2)])),
            ),
            (r#"{"merge":["1"]}"#, None),
            (r#"{"split":{"id":3}}"#, None),
            (r#"{"split":{"id":"3","at":"x"}}"#, None),
            ("{}", None),
            ("[]", None),
        ] {
            let change = RepartitioningRequest::parse(&parse(body.as_bytes()).unwrap());
            assert_eq!(change.ok(), expected, "{body}");
        }
    }
}
