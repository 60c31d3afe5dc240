//! How a container's throughput is divided: over physical partitions, and among kinds of requests.

use orrery_json::Value;

use crate::definition::fields::{Fields, list_unless_empty, object, refused};
use crate::{Failure, RangeId, limits};

/// What differs from equal parts for everybody.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distribution {
    /// Request units a second of single partitions; none at all means equal parts. A partition may
    /// be asked to have more than it can: the rest waits for its split.
    pub shares: Vec<(RangeId, u32)>,
    pub buckets: Vec<ThroughputBucket>,
    /// When the buckets were set last.
    pub buckets_set_seconds: u64,
}

/// Requests that name it get at most a part of each physical partition's throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThroughputBucket {
    /// From 1 to 5.
    pub id: u8,
    pub percent_max: u8,
    /// Whether requests that name no bucket are in this one.
    pub is_default: bool,
}

/// What an operator wants to be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistributionChange {
    pub division: Option<Division>,
    /// In place of all there were.
    pub buckets: Option<Vec<ThroughputBucket>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Division {
    Equal,
    /// Partitions that are not named keep what they have.
    Shares(Vec<(RangeId, u32)>),
}

impl DistributionChange {
    /// Reads `{"policy":"equal"}`, `{"partitions":[{"id":"0","throughput":6000}]}` and
    /// `{"buckets":[{"id":1,"maxThroughputPercentage":50}]}`.
    pub fn parse(body: &Value) -> Result<DistributionChange, Failure> {
        let fields = Fields::of_body(body)?;
        let equal = fields.choice("policy", &[("equal", true), ("custom", false)])?;
        let shares = fields.objects("partitions")?;
        let division = match (equal, shares) {
            (Some(true), None) => Some(Division::Equal),
            (None | Some(false), Some(shares)) => Some(Division::Shares(read_shares(&shares)?)),
            (None, None) => None,
            (Some(true), Some(_)) | (Some(false), None) => {
                return Err(refused(
                    "The policy 'custom' needs 'partitions', and 'equal' has none.",
                ));
            }
        };
        let buckets = fields.objects("buckets")?;
        let buckets = buckets.map(|buckets| read_buckets(&buckets)).transpose()?;
        if division.is_none() && buckets.is_none() {
            return Err(refused(
                "The body must have one of 'policy', 'partitions' and 'buckets'.",
            ));
        }
        Ok(DistributionChange { division, buckets })
    }
}

impl Distribution {
    pub(crate) fn to_value(&self) -> Value {
        if *self == Distribution::default() {
            return Value::Undefined;
        }
        let share = |(id, units): &(RangeId, u32)| {
            object([
                ("id", Value::from(id.to_string())),
                ("throughput", Value::from(i64::from(*units))),
            ])
        };
        let bucket = |bucket: &ThroughputBucket| {
            object([
                ("id", Value::from(i64::from(bucket.id))),
                (
                    "maxThroughputPercentage",
                    Value::from(i64::from(bucket.percent_max)),
                ),
                ("isDefaultBucket", Value::from(bucket.is_default)),
            ])
        };
        let set_seconds = i64::try_from(self.buckets_set_seconds).unwrap_or(i64::MAX);
        object([
            (
                "partitions",
                list_unless_empty(self.shares.iter().map(share)),
            ),
            (
                "buckets",
                list_unless_empty(self.buckets.iter().map(bucket)),
            ),
            ("bucketsSet", Value::from(set_seconds)),
        ])
    }

    /// Reads what [`Distribution::to_value`] wrote.
    pub(crate) fn from_fields(fields: Option<&Fields<'_>>) -> Result<Distribution, Failure> {
        let Some(fields) = fields else {
            return Ok(Distribution::default());
        };
        let shares = fields.objects("partitions")?.unwrap_or_default();
        let buckets = fields.objects("buckets")?.unwrap_or_default();
        let set_seconds = fields.required_integer("bucketsSet")?;
        Ok(Distribution {
            shares: read_shares(&shares)?,
            buckets: read_buckets(&buckets)?,
            buckets_set_seconds: u64::try_from(set_seconds)
                .map_err(|_| fields.missing("bucketsSet"))?,
        })
    }
}

fn read_shares(shares: &[Fields<'_>]) -> Result<Vec<(RangeId, u32)>, Failure> {
    let (low, high) = (
        limits::PARTITION_SHARE_RUS_MIN,
        limits::PARTITION_SHARE_RUS_MAX,
    );
    let mut read: Vec<(RangeId, u32)> = Vec::new();
    for fields in shares {
        let id = fields.required_text("id")?;
        let id = id.parse().map(RangeId).map_err(|_| {
            let name = fields.name("id");
            refused(format!(
                "'{name}' must be the id of a partition; '{id}' is not."
            ))
        })?;
        if read.iter().any(|(other, _)| *other == id) {
            return Err(refused(format!("The partition '{id}' is named twice.")));
        }
        let units = fields.required_integer("throughput")?;
        let valid = u32::try_from(units).ok();
        let valid = valid.filter(|units| (low..=high).contains(units));
        read.push((
            id,
            valid.ok_or_else(|| {
                refused(format!(
                    "The throughput of a partition must be between {low} and {high}, not {units}."
                ))
            })?,
        ));
    }
    Ok(read)
}

fn read_buckets(buckets: &[Fields<'_>]) -> Result<Vec<ThroughputBucket>, Failure> {
    let mut read: Vec<ThroughputBucket> = Vec::new();
    for fields in buckets {
        let number = |property, high: u8| {
            let number = fields.required_integer(property)?;
            let valid = u8::try_from(number).ok();
            valid
                .filter(|number| (1..=high).contains(number))
                .ok_or_else(|| {
                    let name = fields.name(property);
                    refused(format!(
                        "'{name}' must be between 1 and {high}, not {number}."
                    ))
                })
        };
        let bucket = ThroughputBucket {
            id: number("id", limits::THROUGHPUT_BUCKETS_MAX)?,
            percent_max: number("maxThroughputPercentage", 100)?,
            is_default: fields.boolean("isDefaultBucket")?.unwrap_or(false),
        };
        if read.iter().any(|other| other.id == bucket.id) {
            let id = bucket.id;
            return Err(refused(format!(
                "The throughput bucket {id} is named twice."
            )));
        }
        if bucket.is_default && read.iter().any(|other| other.is_default) {
            return Err(refused("There can be only one default throughput bucket."));
        }
        read.push(bucket);
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;

    use super::*;

    fn read(text: &str) -> Result<DistributionChange, Failure> {
        DistributionChange::parse(&parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn changes() {
        let division = |text| read(text).unwrap().division;
        assert_eq!(division(r#"{"policy":"Equal"}"#), Some(Division::Equal));
        let shares = Some(Division::Shares(vec![(RangeId(0), 6000)]));
        for text in [
            r#"{"partitions":[{"id":"0","throughput":6000}]}"#,
            r#"{"policy":"custom","partitions":[{"id":"0","throughput":6000}]}"#,
        ] {
            assert_eq!(division(text), shares);
        }
        let change = read(r#"{"buckets":[{"id":2,"maxThroughputPercentage":30}]}"#).unwrap();
        let bucket = ThroughputBucket {
            id: 2,
            percent_max: 30,
            is_default: false,
        };
        assert_eq!(
            (change.division, change.buckets),
            (None, Some(vec![bucket]))
        );
    }

    #[test]
    fn refusals_say_what_to_correct() {
        for (text, phrase) in [
            ("{}", "one of 'policy'"),
            (r#"{"policy":"custom"}"#, "needs 'partitions'"),
            (r#"{"policy":"other"}"#, "'other' is not"),
            (
                r#"{"partitions":[{"id":"x","throughput":400}]}"#,
                "'x' is not",
            ),
            (
                r#"{"partitions":[{"id":"0","throughput":99}]}"#,
                "between 100 and 20000",
            ),
            (
                r#"{"partitions":[{"id":"0","throughput":20100}]}"#,
                "not 20100",
            ),
            (
                r#"{"partitions":[{"id":"0","throughput":400},{"id":"0","throughput":400}]}"#,
                "twice",
            ),
            (
                r#"{"buckets":[{"id":6,"maxThroughputPercentage":1}]}"#,
                "between 1 and 5",
            ),
            (
                r#"{"buckets":[{"id":1,"maxThroughputPercentage":101}]}"#,
                "between 1 and 100",
            ),
            (
                r#"{"buckets":[{"id":1,"maxThroughputPercentage":9,"isDefaultBucket":true},
                               {"id":2,"maxThroughputPercentage":9,"isDefaultBucket":true}]}"#,
                "only one default",
            ),
        ] {
            match read(text) {
                Err(Failure::BadRequest(message)) => {
                    assert!(message.contains(phrase), "{message}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let distribution = Distribution {
            shares: vec![(RangeId(0), 400), (RangeId(7), 15_000)],
            buckets: vec![ThroughputBucket {
                id: 3,
                percent_max: 100,
                is_default: true,
            }],
            buckets_set_seconds: 1_700_000_000,
        };
        for distribution in [distribution, Distribution::default()] {
            let value = distribution.to_value();
            let fields = (!value.is_undefined()).then(|| Fields::of_body(&value).unwrap());
            assert_eq!(Distribution::from_fields(fields.as_ref()), Ok(distribution));
        }
    }
}
