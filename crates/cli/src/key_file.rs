//! The key file: making it, and applying changed keys while the server runs.
//!
//! One `name = value` to a line, quoted or not, with `#` for comments: simple TOML, and what a
//! shell script writes without thinking about quotes. Messages name the line and never its text.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::keys::{KeySet, KeyText, KeyTexts, fresh_key};
use crate::{private_file, secret_file};

const POLL_PERIOD: Duration = Duration::from_secs(1);

/// Makes the file with four new keys if there is none.
pub(crate) fn make_if_missing(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let names = [
        "primary",
        "secondary",
        "primary-read-only",
        "secondary-read-only",
    ];
    let mut text =
        "# The keys of an Orrery account. Whoever has one of them is let in.\n".to_owned();
    for name in names {
        let _ = writeln!(text, "{name} = \"{}\"", fresh_key()?);
    }
    private_file::write(path, text.as_bytes()).context("cannot make the key file")?;
    tracing::warn!(path = %path.display(), "there was no key file; it was made with new keys, which clients need");
    Ok(())
}

pub(crate) fn read(path: &Path) -> Result<KeySet> {
    let text = secret_file::read(path)
        .with_context(|| format!("cannot read the key file {}", path.display()))?;
    parse(&text).with_context(|| format!("in the key file {}", path.display()))
}

/// Calls `changed` with every new set of keys that the file holds and that is `permitted`, forever.
pub(crate) async fn watch(
    path: PathBuf,
    current: KeySet,
    permitted: impl Fn(&KeySet) -> Result<()>,
    changed: impl Fn(&KeySet),
) {
    let mut watched = KeyFileWatcher {
        current,
        reported: None,
    };
    let mut ticks = interval(POLL_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let file = path.clone();
        // The blocking pool reads the file, because file systems can block.
        let Ok(keys) = spawn_blocking(move || read(&file)).await else {
            return;
        };
        // A rotated file must not put the well-known key on a public address.
        let keys = keys.and_then(|keys| permitted(&keys).map(|()| keys));
        if let Some(keys) = watched.next(keys) {
            changed(keys);
            tracing::info!(path = %path.display(), "took over new account keys");
        }
    }
}

/// Remembers the keys in use and the last reported error. A key file that is missing or wrong
/// leaves the keys unchanged, and the log reports each error once.
struct KeyFileWatcher {
    current: KeySet,
    reported: Option<String>,
}

impl KeyFileWatcher {
    /// The keys that were just read, if they differ from the keys in use.
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
        // A second key of the same name would silently win or lose.
        if slot.is_some() {
            bail!("line {number} gives a key for the second time");
        }
        let Ok(value) = value.parse::<KeyText>();
        *slot = Some(value);
    }
    // Without this check `KeySet::parse` would fall back to the well-known key.
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

    /// Puts keys that are long enough where the text has `{a}`, `{b}` and `{c}`.
    fn with_keys(text: &str) -> String {
        let mut text = text.to_owned();
        for (name, byte) in [("{a}", "YWFh"), ("{b}", "YmJi"), ("{c}", "Y2Nj")] {
            text = text.replace(name, &byte.repeat(11));
        }
        text
    }

    fn parse(text: &str) -> Result<KeySet> {
        super::parse(&with_keys(text))
    }

    #[test]
    fn lines_quoted_or_not() {
        let quoted = parse(
            "# keys\n\nprimary = \"{a}\"  # mine\nsecondary='{b}'\nprimary-read-only = \"{c}\"\n",
        );
        let plain = parse("primary={a}\nsecondary = {b} # other\nprimary-read-only = {c}");
        assert_eq!(quoted.unwrap(), plain.unwrap());
    }

    #[test]
    fn mistakes_name_the_line() {
        for (text, phrase) in [
            ("", "no primary key"),
            ("secondary = \"{a}\"", "no primary key"),
            ("primary", "line 1"),
            ("primary = \"{a}", "line 1"),
            ("\nprimary = \"{a}\" x", "line 2"),
            ("primary = {a}\nthird = {a}", "line 2 names no key"),
            ("primary = {a}\nprimary = {a}", "line 2"),
            ("primary = \"not base64\"", "primary key is not base64"),
            ("primary = YQ==", "primary key has 1 bytes"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(phrase), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_change_is_taken_over_and_a_mistake_is_not() {
        let keys = |text: &str| parse(text).unwrap();
        let mut watched = KeyFileWatcher {
            current: keys("primary = {a}"),
            reported: None,
        };
        for (text, taken) in [
            ("primary = '{a}'", false),
            ("nonsense", false),
            ("primary = {b}", true),
            ("primary = {b}", false),
            ("primary = {b}\nsecondary = {a}", true),
            ("", false),
            ("primary = {b}\nsecondary = {a}", false),
        ] {
            let next = watched.next(parse(text)).cloned();
            assert_eq!(next, taken.then(|| keys(text)), "{text}");
        }
    }

    #[test]
    fn a_missing_file_is_made_once_and_for_nobody_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys.toml");
        make_if_missing(&path).unwrap();
        let made = read(&path).unwrap();
        assert!(!made.has_well_known());
        assert_eq!(made.account_keys().keys.len(), 4);
        make_if_missing(&path).unwrap();
        assert_eq!(read(&path).unwrap(), made);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let open = std::fs::Permissions::from_mode(0o662);
            std::fs::set_permissions(&path, open).unwrap();
            let error = format!("{:#}", read(&path).unwrap_err());
            assert!(
                error.contains("keys.toml") && error.contains("others"),
                "{error}"
            );
        }
    }
}
