//! Named accounts in a TOML file, so that users need not type keys.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::connection::ConnectionString;
use crate::error::Error;
use crate::output::Format;

/// The settings of one account. Flags of the command line precede these settings.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) connection: Option<ConnectionString>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) ca: Option<PathBuf>,
    #[serde(default)]
    pub(crate) insecure: bool,
    pub(crate) database: Option<String>,
    pub(crate) container: Option<String>,
    pub(crate) format: Option<Format>,
}

/// The whole file. Unknown fields are errors, since a misspelt field would be ignored silently.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    profile: BTreeMap<String, Profile>,
}

impl Profile {
    /// Reads one profile from a file.
    pub(crate) fn load(path: &Path, name: &str) -> Result<Profile, Error> {
        let wrong = |reason: String| Error::File {
            path: path.to_owned(),
            reason,
        };
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        // The parser's own message would quote the line, which may contain a key.
        let mut file: File =
            toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
        // The file may contain keys, so its permissions matter as those of a key file.
        warn_if_shared(path);
        // The error lists the profiles, because a wrong name is the usual mistake.
        file.profile.remove(name).ok_or_else(|| {
            let known: Vec<&str> = file.profile.keys().map(String::as_str).collect();
            wrong(match known.join(", ").as_str() {
                "" => format!("it has no [profile.{name}]"),
                known => format!("it has no [profile.{name}], only {known}"),
            })
        })
    }
}

/// Warns if other users may read the file, because the file may contain account keys.
#[cfg(unix)]
fn warn_if_shared(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o077 != 0 {
        let path = path.display();
        crate::output::print_message(&format!(
            "warning: others may read the keys in {path}; `chmod 600 {path}` keeps them private"
        ));
    }
}

#[cfg(not(unix))]
fn warn_if_shared(_path: &Path) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shell.toml");
        fs::write(
            &path,
            "[profile.a]\nconnection = \"https://a\"\nformat = \"csv\"\n[profile.b]\n",
        )
        .unwrap();
        let profile = Profile::load(&path, "a").unwrap();
        assert_eq!(profile.format, Some(Format::Csv));
        assert!(profile.connection.is_some() && !profile.insecure);
        let error = Profile::load(&path, "c").unwrap_err().to_string();
        assert!(error.contains("[profile.c], only a, b"), "{error}");
    }

    #[test]
    fn mistakes_name_the_file_and_no_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shell.toml");
        fs::write(&path, "[profile.a]\nkonnection = \"secret\"\n").unwrap();
        let error = Profile::load(&path, "a").unwrap_err().to_string();
        assert!(
            error.contains("shell.toml") && error.contains("konnection"),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
        assert!(Profile::load(&directory.path().join("none"), "a").is_err());
    }
}
