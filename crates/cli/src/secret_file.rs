//! Files with secrets that others made: read, unless somebody else could have written them.
//!
//! A user who may write a key file chooses the keys, so such a file is refused. A file that every
//! user may read is accepted with a warning, because secrets that are mounted into containers often
//! have these permissions. The permissions are those of Unix; on Windows the access list of the
//! directory is the administrator's task.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// The text of a file that nobody but its owner may write.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    // The check looks at the open file and not at the path, because another user could put another
    // file at the path between a check and the open.
    check(&file.metadata()?)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Warns in the log if every user of this machine may read the file.
pub(crate) fn warn_of_readers(path: &Path) {
    if path.metadata().is_ok_and(|found| is_readable(&found)) {
        tracing::warn!(
            path = %path.display(),
            "every user of this machine may read this secret; `chmod go-rwx` keeps it from them"
        );
    }
}

#[cfg(unix)]
fn check(found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "others than its owner may write it (mode {mode:03o}), and whoever writes it chooses the secret; use \
         `chmod go-w` after looking at what is in it"
    )))
}

#[cfg(unix)]
fn is_readable(found: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o004 != 0
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn check(_: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn is_readable(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn secret_files_writable_by_others_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        fs::write(&path, "s").unwrap();
        for (mode, is_taken, is_public) in [
            (0o600, true, false),
            (0o440, true, false),
            (0o644, true, true),
            (0o620, false, false),
            (0o602, false, false),
            (0o666, false, true),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match read(&path) {
                Ok(text) => assert!(is_taken && text == "s", "{mode:o}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(
                        !is_taken && error.contains("chmod go-w"),
                        "{mode:o}: {error}"
                    );
                }
            }
            assert_eq!(
                is_readable(&path.metadata().unwrap()),
                is_public,
                "{mode:o}"
            );
        }
    }
}
