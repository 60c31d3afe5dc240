//! The file that holds the keys, and taking them over while the server runs.
//!
//! One `name = value` to a line, quoted or not, with `#` for comments: simple TOML, and what a
//! shell script writes without thinking about quotes. Messages name the line and never its text.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::keys::{KeySet, KeyText, KeyTexts};

const POLL_PERIOD: Duration = Duration::from_secs(1);

pub(crate) fn read(path: &Path) -> Result<KeySet> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the key file {}", path.display()))?;
    parse(&text).with_context(|| format!("in the key file {}", path.display()))
}

/// Calls `changed` with every new set of keys that the file holds, forever.
pub(crate) async fn watch(path: PathBuf, current: KeySet, changed: impl Fn(&KeySet)) {
    let mut watched = Watched {
        current,
        reported: None,
    };
    let mut ticks = interval(POLL_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let file = path.clone();
        let Ok(keys) = spawn_blocking(move || read(&file)).await else {
            return;
        };
        if let Some(keys) = watched.next(keys) {
            changed(keys);
            tracing::info!(path = %path.display(), "took over new account keys");
        }
    }
}

/// A file that is missing or wrong leaves the keys as they are and is reported once.
struct Watched {
    current: KeySet,
    reported: Option<String>,
}

impl Watched {
    /// The keys, if what was read just now changed them.
    fn next(&mut self, read: Result<KeySet>) -> Option<&KeySet> {
        match read {
            Ok(keys) => {
                self.reported = None;
                (keys != self.current).then(|| {
                    self.current = keys;
                    &self.current
                })
            }
            Err(error) => {
                let error = format!("{error:#}");
                if self.reported.as_ref() != Some(&error) {
                    tracing::warn!(%error, "the account keys stay as they were");
                    self.reported = Some(error);
                }
                None
            }
        }
    }
}

fn parse(text: &str) -> Result<KeySet> {
    let mut keys = KeyTexts::default();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            bail!("line {number} is not of the form name = \"key\"");
        };
        let slot = match name.trim() {
            "primary" => &mut keys.primary,
            "secondary" => &mut keys.secondary,
            "primary-read-only" => &mut keys.primary_read_only,
            "secondary-read-only" => &mut keys.secondary_read_only,
            _ => bail!(
                "line {number} names no key; use primary, secondary, primary-read-only or secondary-read-only"
            ),
        };
        let Some(value) = unquoted(value) else {
            bail!("line {number} has a quote or something else where the key should end");
        };
        if slot.is_some() {
            bail!("line {number} gives a key for the second time");
        }
        let Ok(value) = value.parse::<KeyText>();
        *slot = Some(value);
    }
    if keys.primary.is_none() {
        bail!("there is no primary key");
    }
    KeySet::parse(&keys)
}

/// The value without its quotes and without a comment behind it.
fn unquoted(value: &str) -> Option<&str> {
    let value = value.trim();
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return value
            .split('#')
            .next()
            .map(str::trim)
            .filter(|value| !value.contains(['"', '\'']));
    };
    let (inner, rest) = value[1..].split_once(quote)?;
    let rest = rest.trim();
    (rest.is_empty() || rest.starts_with('#')).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_quoted_or_not() {
        let quoted = parse(
            "# keys\n\nprimary = \"YWE=\"  # mine\nsecondary='Yg=='\nprimary-read-only = \"Yw==\"\n",
        );
        let plain = parse("primary=YWE=\nsecondary = Yg== # other\nprimary-read-only = Yw==");
        assert_eq!(quoted.unwrap(), plain.unwrap());
    }

    #[test]
    fn mistakes_name_the_line() {
        for (text, phrase) in [
            ("", "no primary key"),
            ("secondary = \"YQ==\"", "no primary key"),
            ("primary", "line 1"),
            ("primary = \"YQ==", "line 1"),
            ("\nprimary = \"YQ==\" x", "line 2"),
            ("primary = YQ==\nthird = YQ==", "line 2 names no key"),
            ("primary = YQ==\nprimary = YQ==", "line 2"),
            ("primary = \"not base64\"", "primary key is not base64"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(phrase), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_change_is_taken_over_and_a_mistake_is_not() {
        let keys = |text: &str| parse(text).unwrap();
        let mut watched = Watched {
            current: keys("primary = YQ=="),
            reported: None,
        };
        for (text, taken) in [
            ("primary = 'YQ=='", false),
            ("nonsense", false),
            ("primary = Yg==", true),
            ("primary = Yg==", false),
            ("primary = Yg==\nsecondary = YQ==", true),
            ("", false),
            ("primary = Yg==\nsecondary = YQ==", false),
        ] {
            let next = watched.next(parse(text)).cloned();
            assert_eq!(next, taken.then(|| keys(text)), "{text}");
        }
    }
}
