//! The distribution of a container's throughput over physical partitions, and among kinds of
//! requests.

use orrery_json::Value;

use crate::definition::fields::{DefinitionFields, invalid_input, list_unless_empty, object};
use crate::{Failure, RangeId, limits};

/// The differences from equal shares for every partition and every request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThroughputDistribution {
    /// Request units a second of single partitions. Empty means equal shares. A share may exceed
    /// the limit of a partition; the rest takes effect when the partition has split.
    pub shares: Vec<(RangeId, u32)>,
    pub buckets: Vec<ThroughputBucket>,
    /// When the buckets were last changed, in seconds.
    pub buckets_set_seconds: u64,
}

/// A throughput bucket. Requests that name it may use at most a part of each physical partition's
/// throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThroughputBucket {
    /// The bucket number, from 1 to 5.
    pub id: u8,
    pub percent_max: u8,
    /// Whether this bucket contains the requests without a bucket.
    pub is_default: bool,
}

/// A change of the distribution that an operator orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistributionChange {
    pub division: Option<PartitionShares>,
    /// The new buckets, which replace all present ones.
    pub buckets: Option<Vec<ThroughputBucket>>,
}

/// The shares that an operator orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionShares {
    Equal,
    /// Shares of single partitions. Partitions without an entry retain their share.
    Custom(Vec<(RangeId, u32)>),
}

impl DistributionChange {
    /// Parses `{"policy":"equal"}`, `{"partitions":[{"id":"0","throughput":6000}]}` and
    /// `{"buckets":[{"id":1,"maxThroughputPercentage":50}]}`.
    pub fn parse(body: &Value) -> Result<DistributionChange, Failure> {
        let fields = DefinitionFields::of_body(body)?;
        let equal = fields.choice("policy", &[("equal", true), ("custom", false)])?;
        let shares = fields.objects("partitions")?;
        let division = match (equal, shares) {
            (Some(true), None) => Some(PartitionShares::Equal),
            (None | Some(false), Some(shares)) => {
                Some(PartitionShares::Custom(read_shares(&shares)?))
            }
            (None, None) => None,
            // A contradiction is refused instead of guessed.
            (Some(true), Some(_)) | (Some(false), None) => {
                return Err(invalid_input(
                    "The policy 'custom' needs 'partitions', and 'equal' has none.",
                ));
            }
        };
        let buckets = fields.objects("buckets")?;
        let buckets = buckets.map(|buckets| read_buckets(&buckets)).transpose()?;
        if division.is_none() && buckets.is_none() {
            return Err(invalid_input(
                "The body must have one of 'policy', 'partitions' and 'buckets'.",
            ));
        }
        Ok(DistributionChange { division, buckets })
    }
}

impl ThroughputDistribution {
    pub(crate) fn to_value(&self) -> Value {
        // An offer with equal shares has no such property, as offers of Cosmos DB have none.
        if *self == ThroughputDistribution::default() {
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

    /// Parses the output of [`ThroughputDistribution::to_value`].
    pub(crate) fn from_fields(
        fields: Option<&DefinitionFields<'_>>,
    ) -> Result<ThroughputDistribution, Failure> {
        let Some(fields) = fields else {
            return Ok(ThroughputDistribution::default());
        };
        let shares = fields.objects("partitions")?.unwrap_or_default();
        let buckets = fields.objects("buckets")?.unwrap_or_default();
        let set_seconds = fields.required_integer("bucketsSet")?;
        Ok(ThroughputDistribution {
            shares: read_shares(&shares)?,
            buckets: read_buckets(&buckets)?,
            buckets_set_seconds: u64::try_from(set_seconds)
                .map_err(|_| fields.missing("bucketsSet"))?,
        })
    }
}

/// Parses the shares. Each partition may occur once.
fn read_shares(shares: &[DefinitionFields<'_>]) -> Result<Vec<(RangeId, u32)>, Failure> {
    let (low, high) = (
        limits::PARTITION_SHARE_RUS_MIN,
        limits::PARTITION_SHARE_RUS_MAX,
    );
    let mut read: Vec<(RangeId, u32)> = Vec::new();
    for fields in shares {
        let id = fields.required_text("id")?;
        let id = id.parse().map(RangeId).map_err(|_| {
            let name = fields.name("id");
            invalid_input(format!(
                "'{name}' must be the id of a partition; '{id}' is not."
            ))
        })?;
        if read.iter().any(|(other, _)| *other == id) {
            return Err(invalid_input(format!(
                "The partition '{id}' is named twice."
            )));
        }
        let units = fields.required_integer("throughput")?;
        let valid = u32::try_from(units).ok();
        let valid = valid.filter(|units| (low..=high).contains(units));
        read.push((
            id,
            valid.ok_or_else(|| {
                invalid_input(format!(
                    "The throughput of a partition must be between {low} and {high}, not {units}."
                ))
            })?,
        ));
    }
    Ok(read)
}

/// Parses the buckets. Each number may occur once.
fn read_buckets(buckets: &[DefinitionFields<'_>]) -> Result<Vec<ThroughputBucket>, Failure> {
    let mut read: Vec<ThroughputBucket> = Vec::new();
    for fields in buckets {
        let number = |property, high: u8| {
            let number = fields.required_integer(property)?;
            let valid = u8::try_from(number).ok();
            valid
                .filter(|number| (1..=high).contains(number))
                .ok_or_else(|| {
                    let name = fields.name(property);
                    invalid_input(format!(
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
            return Err(invalid_input(format!(
                "The throughput bucket {id} is named twice."
            )));
        }
        // A request without a bucket could not be assigned.
        if bucket.is_default && read.iter().any(|other| other.is_default) {
            return Err(invalid_input(
                "There can be only one default throughput bucket.",
            ));
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
    fn distribution_changes_are_parsed() {
        let division = |text| read(text).unwrap().division;
        assert_eq!(
            division(r#"{"policy":"Equal"}"#),
            Some(PartitionShares::Equal)
        );
        let shares = Some(PartitionShares::Custom(vec![(RangeId(0), 6000)]));
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
    fn distributions_round_trip() {
        let distribution = ThroughputDistribution {
            shares: vec![(RangeId(0), 400), (RangeId(7), 15_000)],
            buckets: vec![ThroughputBucket {
                id: 3,
                percent_max: 100,
                is_default: true,
            }],
            buckets_set_seconds: 1_700_000_000,
        };
        for distribution in [distribution, ThroughputDistribution::default()] {
            let value = distribution.to_value();
            let fields =
                (!value.is_undefined()).then(|| DefinitionFields::of_body(&value).unwrap());
            assert_eq!(
                ThroughputDistribution::from_fields(fields.as_ref()),
                Ok(distribution)
            );
        }
    }
}
