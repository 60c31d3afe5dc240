//! When a write is durable: `sync`, `interval:MS` or `none`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use orrery_engine::Durability;

/// [`Durability`] with its spelling on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DurabilitySetting(pub(crate) Durability);

/// Longer intervals are taken for a mistake in the unit.
const INTERVAL_MS_MAX: u64 = 60_000;

impl DurabilitySetting {
    /// What a person risks, for the start message.
    pub(crate) fn promise(self) -> String {
        match self.0 {
            Durability::Sync => "every write is on disk before it is answered".to_owned(),
            Durability::Interval(period) => {
                format!(
                    "a power failure may lose the last {} ms of writes",
                    period.as_millis()
                )
            }
            Durability::None => "a power failure may lose recent writes".to_owned(),
        }
    }
}

impl FromStr for DurabilitySetting {
    type Err = String;

    fn from_str(text: &str) -> Result<DurabilitySetting, String> {
        let durability = match text {
            "sync" => Durability::Sync,
            "none" => Durability::None,
            _ => {
                let period = text
                    .strip_prefix("interval:")
                    .and_then(|number| number.parse::<u64>().ok())
                    .filter(|ms| (1..=INTERVAL_MS_MAX).contains(ms))
                    .ok_or_else(|| {
                        format!(
                            "'{text}' is not a durability; use sync, none, or interval:MS with 1 to \
                             {INTERVAL_MS_MAX} milliseconds"
                        )
                    })?;
                Durability::Interval(Duration::from_millis(period))
            }
        };
        Ok(DurabilitySetting(durability))
    }
}

impl fmt::Display for DurabilitySetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Durability::Sync => f.write_str("sync"),
            Durability::Interval(period) => write!(f, "interval:{}", period.as_millis()),
            Durability::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durabilities() {
        for (text, expected) in [
            ("sync", Durability::Sync),
            ("none", Durability::None),
            ("interval:1", Durability::Interval(Duration::from_millis(1))),
            (
                "interval:60000",
                Durability::Interval(Duration::from_mins(1)),
            ),
        ] {
            let parsed = text.parse::<DurabilitySetting>();
            assert_eq!(parsed, Ok(DurabilitySetting(expected)), "{text}");
            assert_eq!(DurabilitySetting(expected).to_string(), text);
        }
        for text in [
            "",
            "Sync",
            "interval",
            "interval:",
            "interval:0",
            "interval:1s",
            "interval:60001",
        ] {
            assert!(text.parse::<DurabilitySetting>().is_err(), "{text}");
        }
    }
}
