//! The secret that signs resource tokens. The file beside the data keeps tokens valid after a
//! restart.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{private_file, secret_file};

const FILE_NAME: &str = "token-secret";
const SECRET_BYTES: usize = 32;

/// The secret of a data directory, made at the first start; a fresh one without a directory.
pub(crate) fn load(directory: Option<&Path>) -> Result<Vec<u8>> {
    let Some(path) = directory.map(|directory| directory.join(FILE_NAME)) else {
        return fresh();
    };
    // A damaged secret is an error: a new one made silently would invalidate all resource tokens.
    match secret_file::read(&path) {
        Ok(text) => STANDARD
            .decode(text.trim())
            .ok()
            .filter(|secret| secret.len() == SECRET_BYTES)
            .with_context(|| {
                format!(
                    "{} is damaged; delete it to have a new one made",
                    path.display()
                )
            }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let secret = fresh()?;
            write(&path, &secret)?;
            Ok(secret)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Stores the token secret of the account, in place of the secret that this process made.
pub(crate) fn store(directory: Option<&Path>, secret: &[u8]) -> Result<()> {
    match directory {
        Some(directory) => write(&directory.join(FILE_NAME), secret),
        None => Ok(()),
    }
}

fn write(path: &Path, secret: &[u8]) -> Result<()> {
    private_file::write(path, STANDARD.encode(secret).as_bytes())
}

fn fresh() -> Result<Vec<u8>> {
    let mut secret = vec![0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(|error| anyhow!("no entropy: {error}"))?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let first = load(Some(directory.path())).unwrap();
        assert_eq!(load(Some(directory.path())).unwrap(), first);
        assert_ne!(load(None).unwrap(), first);
        store(Some(directory.path()), &[7; SECRET_BYTES]).unwrap();
        assert_eq!(load(Some(directory.path())).unwrap(), [7; SECRET_BYTES]);
        private_file::write(&directory.path().join(FILE_NAME), b"short").unwrap();
        assert!(load(Some(directory.path())).is_err());
    }
}
