//! Whether throughput is enforced: `on` or `off`.

use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThroughputSetting {
    On,
    Off,
}

impl FromStr for ThroughputSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<ThroughputSetting, String> {
        match text {
            "on" => Ok(ThroughputSetting::On),
            "off" => Ok(ThroughputSetting::Off),
            _ => Err(format!("'{text}' is neither on nor off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_or_off() {
        for (text, expected) in [
            ("on", Some(ThroughputSetting::On)),
            ("off", Some(ThroughputSetting::Off)),
            ("", None),
            ("true", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
