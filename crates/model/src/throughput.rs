//! Throughput: the request units that a database or container may use each second.

use orrery_json::Value;

use crate::definition::fields::{DefinitionFields, invalid_input};
use crate::{Failure, limits};

/// Request units a second. [`Throughput::manual`] and [`Throughput::autoscale`] make the values and
/// check their limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throughput {
    Manual(u32),
    /// Scales between a tenth of `max` and `max`, with the load.
    Autoscale {
        max: u32,
        /// The percentage by which `max` grows by itself. Answers contain it whenever a client sent
        /// it, zero included.
        increment_percent: Option<u32>,
    },
}

/// The priority of a request: with too little throughput, requests of low priority are refused
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PriorityLevel {
    #[default]
    High,
    Low,
}

/// The usage of the owner that limits an offer from below.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnerUsage {
    pub storage_bytes: u64,
    /// The number of containers of a database that shares its throughput among them.
    pub shared_containers: Option<usize>,
}

/// The number of containers of a shared database that do not raise its minimum throughput.
const SHARED_CONTAINERS_FREE: u32 = 25;

impl Throughput {
    pub fn manual(units: i64) -> Result<Throughput, Failure> {
        let valid = u32::try_from(units).ok().filter(|units| {
            (limits::MANUAL_RUS_MIN..=limits::THROUGHPUT_RUS_MAX).contains(units)
                // Cosmos DB accepts only multiples of the step.
                && units.is_multiple_of(limits::MANUAL_RUS_STEP)
        });
        valid
            .map(Throughput::Manual)
            .ok_or_else(|| out_of_manual_range(units, limits::MANUAL_RUS_MIN))
    }

    pub fn autoscale(max: i64, increment_percent: Option<u32>) -> Result<Throughput, Failure> {
        let valid = u32::try_from(max).ok().filter(|max| {
            (limits::AUTOSCALE_RUS_MIN..=limits::THROUGHPUT_RUS_MAX).contains(max)
                && max.is_multiple_of(limits::AUTOSCALE_RUS_STEP)
        });
        valid
            .map(|max| Throughput::Autoscale {
                max,
                increment_percent,
            })
            .ok_or_else(|| out_of_autoscale_range(max, limits::AUTOSCALE_RUS_MIN))
    }

    /// Parses `{"maxThroughput":4000,"autoUpgradePolicy":{…}}`, as headers and offers contain it.
    pub fn from_autoscale_settings(settings: &Value) -> Result<Throughput, Failure> {
        autoscale_from(&DefinitionFields::of_body(settings)?)
    }

    /// The highest throughput, for which partitions are planned and budgets are made.
    pub fn max(&self) -> u32 {
        match *self {
            Throughput::Manual(units) => units,
            Throughput::Autoscale { max, .. } => max,
        }
    }

    /// The throughput that is provisioned without load.
    pub fn current(&self) -> u32 {
        match *self {
            Throughput::Manual(units) => units,
            Throughput::Autoscale { max, .. } => max / 10,
        }
    }

    /// The number of physical partitions of a new container. SDKs and their tests rely on these
    /// numbers.
    pub fn partition_count(&self) -> usize {
        let count = match *self {
            Throughput::Manual(units) if units <= limits::PARTITION_RUS_MAX => 1,
            Throughput::Manual(units) => units.div_ceil(limits::PARTITION_RUS_PLANNED),
            Throughput::Autoscale { max, .. } => max.div_ceil(limits::PARTITION_RUS_MAX),
        };
        count as usize
    }

    /// The least throughput that a client may set for an offer of this mode.
    pub fn minimum(&self, max_ever: u32, usage: OwnerUsage) -> u32 {
        // The minimum grows with the stored data and with the highest throughput ever provisioned.
        let gigabytes = u32::try_from(usage.storage_bytes.div_ceil(1 << 30)).unwrap_or(u32::MAX);
        let containers = usage.shared_containers.map_or(0, |count| {
            u32::try_from(count)
                .unwrap_or(u32::MAX)
                .saturating_sub(SHARED_CONTAINERS_FREE)
        });
        let (least, step, needed) = match self {
            Throughput::Manual(_) => (
                limits::MANUAL_RUS_MIN,
                limits::MANUAL_RUS_STEP,
                gigabytes.max(max_ever.div_ceil(100)),
            ),
            Throughput::Autoscale { .. } => (
                limits::AUTOSCALE_RUS_MIN,
                limits::AUTOSCALE_RUS_STEP,
                gigabytes.saturating_mul(10).max(max_ever.div_ceil(10)),
            ),
        };
        let shared = least.saturating_add(containers.saturating_mul(step));
        // The minimum itself must be a valid throughput.
        round_up(needed.max(shared), step)
    }
}

pub(crate) fn autoscale_from(settings: &DefinitionFields<'_>) -> Result<Throughput, Failure> {
    let max = settings.required_integer("maxThroughput")?;
    let mut increment_percent = None;
    if let Some(upgrade) = settings.object("autoUpgradePolicy")?
        && let Some(policy) = upgrade.object("throughputPolicy")?
        && let Some(percent) = policy.integer("incrementPercent")?
    {
        let percent = u32::try_from(percent).map_err(|_| {
            invalid_input(format!(
                "'{}' must be a whole number of percent, not {percent}.",
                policy.name("incrementPercent")
            ))
        })?;
        increment_percent = Some(percent);
    }
    Throughput::autoscale(max, increment_percent)
}

pub(crate) fn out_of_manual_range(units: i64, minimum: u32) -> Failure {
    invalid_input(format!(
        "Requested throughput {units} is not possible. The offer should have valid throughput \
         values between {minimum} and {} inclusive in increments of {}.",
        limits::THROUGHPUT_RUS_MAX,
        limits::MANUAL_RUS_STEP
    ))
}

pub(crate) fn out_of_autoscale_range(max: i64, minimum: u32) -> Failure {
    let problem = if max < i64::from(minimum) {
        format!("is less than required minimum throughput {minimum}")
    } else {
        "is not possible".to_owned()
    };
    invalid_input(format!(
        "Requested throughput {max} {problem}. The offer should have valid throughput values \
         between {minimum} and {} inclusive in increments of {}.",
        limits::THROUGHPUT_RUS_MAX,
        limits::AUTOSCALE_RUS_STEP
    ))
}

pub(crate) fn round_up(units: u32, step: u32) -> u32 {
    units.div_ceil(step).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;

    use super::*;

    fn check_refusal(result: Result<Throughput, Failure>, phrases: &[&str]) {
        let Err(Failure::BadRequest(message)) = result else {
            panic!("{result:?} is not a refusal");
        };
        for phrase in phrases {
            assert!(message.contains(phrase), "{message}");
        }
    }

    #[test]
    fn throughput_bounds_and_steps() {
        for units in [400, 500, 10_000, 1_000_000] {
            assert!(Throughput::manual(units).is_ok(), "{units}");
        }
        for units in [-1, 0, 399, 450, 1_000_100, i64::MAX] {
            check_refusal(
                Throughput::manual(units),
                &[
                    "One of the specified inputs is invalid",
                    "between 400 and 1000000 inclusive in increments of 100",
                ],
            );
        }
        for max in [1000, 4000, 1_000_000] {
            assert!(Throughput::autoscale(max, None).is_ok(), "{max}");
        }
        for max in [1500, 1_001_000, i64::MAX] {
            check_refusal(
                Throughput::autoscale(max, None),
                &["between 1000 and 1000000 inclusive in increments of 1000"],
            );
        }
        check_refusal(
            Throughput::autoscale(-200, None),
            &["Requested throughput -200 is less than required minimum throughput 1000"],
        );
    }

    #[test]
    fn autoscale_settings() {
        let read =
            |text: &str| Throughput::from_autoscale_settings(&parse(text.as_bytes()).unwrap());
        let autoscale = |increment_percent| Throughput::Autoscale {
            max: 4000,
            increment_percent,
        };
        assert_eq!(read(r#"{"maxThroughput":4000}"#), Ok(autoscale(None)));
        let policy = |percent: i32| {
            format!(
                r#"{{"maxThroughput":4000,"autoUpgradePolicy":{{"throughputPolicy":{{"incrementPercent":{percent}}}}}}}"#
            )
        };
        assert_eq!(read(&policy(0)), Ok(autoscale(Some(0))));
        check_refusal(
            read(&policy(-1)),
            &["autoUpgradePolicy.throughputPolicy.incrementPercent"],
        );
        check_refusal(read("{}"), &["'maxThroughput' is missing"]);
        check_refusal(
            read(r#"{"maxThroughput":"4000"}"#),
            &["'maxThroughput'", "whole number"],
        );
        check_refusal(read("4000"), &["JSON object"]);
    }

    #[test]
    fn partitions_of_a_new_container() {
        for (units, expected) in [
            (400, 1),
            (10_000, 1),
            (11_000, 2),
            (12_000, 2),
            (18_000, 3),
            (30_000, 5),
        ] {
            assert_eq!(
                Throughput::Manual(units).partition_count(),
                expected,
                "{units}"
            );
        }
        for (max, expected) in [
            (1000, 1),
            (10_000, 1),
            (11_000, 2),
            (20_000, 2),
            (21_000, 3),
        ] {
            let autoscale = Throughput::Autoscale {
                max,
                increment_percent: None,
            };
            assert_eq!(autoscale.partition_count(), expected, "{max}");
        }
    }

    #[test]
    fn minimum_follows_history_storage_and_containers() {
        const GIGABYTE: u64 = 1 << 30;
        let autoscale = Throughput::Autoscale {
            max: 1000,
            increment_percent: None,
        };
        for (max_ever, gigabytes, shared_containers, manual_min, autoscale_min) in [
            (400, 0, None, 400, 1_000),
            (100_000, 0, None, 1_000, 10_000),
            (100_100, 0, None, 1_100, 11_000),
            (400, 1_950, None, 2_000, 20_000),
            (400, 0, Some(25), 400, 1_000),
            (400, 0, Some(30), 900, 6_000),
        ] {
            let usage = OwnerUsage {
                storage_bytes: gigabytes * GIGABYTE,
                shared_containers,
            };
            let row = format!("{max_ever} {gigabytes} {shared_containers:?}");
            assert_eq!(
                Throughput::Manual(400).minimum(max_ever, usage),
                manual_min,
                "{row}"
            );
            assert_eq!(autoscale.minimum(max_ever, usage), autoscale_min, "{row}");
        }
    }

    #[test]
    fn autoscale_rests_at_a_tenth() {
        let autoscale = Throughput::Autoscale {
            max: 5000,
            increment_percent: None,
        };
        assert_eq!((autoscale.current(), autoscale.max()), (500, 5000));
    }
}
