//! The management key: from a file that the settings name, from the data directory, or in memory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orrery_model::Secret;

use crate::{private_file, secret_file};

const FILE_NAME: &str = "management-key";
const KEY_BYTES: usize = 32;
/// The least length of a management key that a user chose.
const CHARACTERS_MIN: usize = 32;

pub(crate) struct ManagementKey {
    pub(crate) secret: Secret,
    pub(crate) location: KeyLocation,
}

/// Where an operator finds the management key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyLocation {
    File(PathBuf),
    /// The server has no data directory, so its start message is the only place that shows the key.
    Memory(String),
}

impl ManagementKey {
    /// Loads the key of the file that the settings name, or of the data directory, where the first
    /// start makes a key.
    pub(crate) fn load(named: Option<&Path>, directory: Option<&Path>) -> Result<ManagementKey> {
        if let Some(path) = named {
            return Ok(ManagementKey {
                secret: read(path)?,
                location: KeyLocation::File(path.to_owned()),
            });
        }
        // Nobody can look the key up after the start, so a server in memory makes a new one each
        // time.
        let Some(path) = directory.map(|directory| directory.join(FILE_NAME)) else {
            let key = fresh()?;
            return Ok(ManagementKey {
                secret: Secret::new(key.clone().into_bytes()),
                location: KeyLocation::Memory(key),
            });
        };
        if !path.exists() {
            private_file::write(&path, fresh()?.as_bytes())?;
        }
        Ok(ManagementKey {
            secret: read(&path)?,
            location: KeyLocation::File(path),
        })
    }
}

/// Reads a management key: one word of visible ASCII, because the key is sent in a header.
pub(crate) fn read_management_key(path: &Path) -> Result<String> {
    let text = secret_file::read(path)
        .with_context(|| format!("cannot read the management key {}", path.display()))?;
    let key = text.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!(
            "{} holds no management key: one word of visible ASCII; make one with `openssl rand -hex 32`",
            path.display()
        );
    }
    Ok(key.to_owned())
}

/// Reads the management key of the server, and refuses one that is short enough to guess.
fn read(path: &Path) -> Result<Secret> {
    let key = read_management_key(path)?;
    if key.len() < CHARACTERS_MIN {
        bail!(
            "the management key in {} has {} characters, and one of less than {CHARACTERS_MIN} can be guessed; make \
             one with `openssl rand -hex 32`",
            path.display(),
            key.len()
        );
    }
    secret_file::warn_of_readers(path);
    Ok(Secret::new(key.into_bytes()))
}

fn fresh() -> Result<String> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("no entropy: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(named: Option<&Path>, directory: Option<&Path>) -> ManagementKey {
        ManagementKey::load(named, directory).unwrap()
    }

    #[test]
    fn a_directory_keeps_its_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let first = load(None, Some(path));
        let second = load(None, Some(path));
        assert_eq!(first.secret, second.secret);
        assert_eq!(first.location, KeyLocation::File(path.join(FILE_NAME)));
        let named = path.join("own");
        let chosen = "k".repeat(CHARACTERS_MIN);
        let write = |text: &str| private_file::write(&named, text.as_bytes()).unwrap();
        write(&format!("{chosen}\n"));
        let own = load(Some(&named), Some(path));
        assert_eq!(own.secret.expose(), chosen.as_bytes());
        let (spaced, foreign) = (format!("{chosen} {chosen}"), "é".repeat(CHARACTERS_MIN));
        for wrong in ["", " \n", &spaced, &foreign, &chosen[1..]] {
            write(wrong);
            assert!(ManagementKey::load(Some(&named), None).is_err(), "{wrong}");
        }
        write(&chosen);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let open = std::fs::Permissions::from_mode(0o606);
            std::fs::set_permissions(&named, open).unwrap();
            assert!(ManagementKey::load(Some(&named), None).is_err());
        }
    }

    #[test]
    fn in_memory_the_key_is_said() {
        let KeyLocation::Memory(text) = load(None, None).location else {
            panic!("not in memory")
        };
        assert!(text.len() > 40);
        assert_ne!(load(None, None).location, KeyLocation::Memory(text));
    }
}
