//! `on` or `off`.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnOff {
    On,
    Off,
}

impl FromStr for OnOff {
    type Err = String;

    fn from_str(text: &str) -> Result<OnOff, String> {
        match text {
            "on" => Ok(OnOff::On),
            "off" => Ok(OnOff::Off),
            _ => Err(format!("'{text}' is neither on nor off")),
        }
    }
}

impl fmt::Display for OnOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnOff::On => "on",
            OnOff::Off => "off",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_or_off() {
        for (text, expected) in [
            ("on", Some(OnOff::On)),
            ("off", Some(OnOff::Off)),
            ("", None),
            ("true", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
            assert!(expected.is_none_or(|setting: OnOff| setting.to_string() == text));
        }
    }
}
