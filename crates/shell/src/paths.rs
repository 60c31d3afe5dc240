//! The files of the shell: its history and its profiles.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reads the environment. Tests supply their own.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The folder of this program below the folders of the user.
const DIRECTORY: &str = "orrery";

/// A connection string, as `--connection`. Unlike the flag it does not show in the list of
/// processes.
pub(crate) const CONNECTION: &str = "ORRERY_CONNECTION";
/// The account key for an address without a key.
pub(crate) const KEY: &str = "ORRERY_KEY";

/// A variable of the process. An empty variable counts as absent.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The history belongs to the state of the user, and not to the configuration.
pub(crate) fn history_file(environment: Environment<'_>) -> Option<PathBuf> {
    Some(
        directory(
            environment,
            "XDG_STATE_HOME",
            "LOCALAPPDATA",
            ".local/state",
        )?
        .join("shell_history"),
    )
}

/// The default file of profiles.
pub(crate) fn profiles_file(environment: Environment<'_>) -> Option<PathBuf> {
    Some(directory(environment, "XDG_CONFIG_HOME", "APPDATA", ".config")?.join("shell.toml"))
}

/// The folder of this program: below an XDG folder, a Windows folder, or the home folder.
fn directory(
    environment: Environment<'_>,
    xdg: &str,
    windows: &str,
    below_home: &str,
) -> Option<PathBuf> {
    let base = environment(xdg).map(PathBuf::from);
    // The XDG specification ignores relative paths.
    let base = base.filter(|base| base.is_absolute());
    let base = base.or_else(|| {
        if cfg!(windows) {
            environment(windows).map(PathBuf::from)
        } else {
            environment("HOME").map(|home| Path::new(&home).join(below_home))
        }
    });
    Some(base?.join(DIRECTORY))
}

/// Makes a directory that only its owner may enter.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn files_are_below_home_unless_told() {
        let home = |name: &str| (name == "HOME").then(|| "/h".to_owned());
        assert_eq!(
            history_file(&home),
            Some("/h/.local/state/orrery/shell_history".into())
        );
        let variables = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("/c".to_owned()),
            "XDG_STATE_HOME" => Some("relative".to_owned()),
            _ => None,
        };
        assert_eq!(
            profiles_file(&variables),
            Some("/c/orrery/shell.toml".into())
        );
        assert_eq!(history_file(&variables), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_new_directory_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        make_private(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
