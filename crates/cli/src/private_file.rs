//! Files that only their owner may read, written atomically.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    // `create_new` refuses a file that another user put there between the removal and this open.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = || {
        // A file that an interrupted start left may have wider permissions, which `mode` does not
        // change.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = options.open(&new)?;
        file.write_all(bytes)?;
        // The content must be durable before the rename: after a crash the new name must not show
        // an empty file.
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_directory_of(path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a directory that only its owner may enter, and its missing parent directories.
pub(crate) fn make_directory(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(path);
    made.with_context(|| format!("cannot make the directory {}", path.display()))
}

/// Makes the rename of a file durable: without this call a crash of the machine may leave no file,
/// or the file with its previous content.
#[cfg(unix)]
fn sync_directory_of(path: &Path) -> std::io::Result<()> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere a directory cannot be opened as a file; NTFS journals its names by itself.
#[cfg(not(unix))]
fn sync_directory_of(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

/// From here on only the owner gets rights to files that this process creates. The embedded storage
/// engine does not set the rights of the files that it creates.
#[cfg(unix)]
pub(crate) fn keep_files_private() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// Outside Unix a new file inherits the access rights of its directory.
#[cfg(not(unix))]
pub(crate) fn keep_files_private() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_replaced_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.pem");
        write(&path, b"1").unwrap();
        write(&path, b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }
}
