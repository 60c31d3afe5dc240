//! The layer of settings that the configuration file makes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use crate::layer::Layer;
use crate::secret_file;

pub(crate) fn layer(path: &Path) -> Result<Layer> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration file {}", path.display()))?;
    let named = || format!("in the configuration file {}", path.display());
    let layer = parse(&text).with_context(named)?;
    if layer.names_keys() {
        // A file with keys must have the permissions of a key file; a file without keys need not.
        // Only the parsed file shows whether keys are present.
        secret_file::read(path).with_context(named)?;
        secret_file::warn_of_readers(path);
    }
    Ok(layer)
}

/// Parses the file. The parser's own message would quote the line, which may hold a key, so the
/// error of this function names only the line number and the reason.
fn parse(text: &str) -> Result<Layer> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error
            .span()
            .and_then(|span| text.get(..span.start))
            .unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        anyhow!("line {line}: {}", error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_names_of_the_flags() {
        let layer = parse("listen = \"9000\"\nmemory = true\nkey = \"YQ==\"\nready-json = false\n");
        let layer = layer.unwrap();
        assert_eq!(layer.listen.unwrap().to_string(), "127.0.0.1:9000");
        assert_eq!((layer.memory, layer.ready_json), (Some(true), Some(false)));
        assert!(layer.key.is_some());
        assert_eq!(parse("").unwrap(), Layer::default());
    }

    #[test]
    fn a_mistake_names_its_line_and_no_secret() {
        for (text, phrases) in [
            ("memory = true\nlisen = \"1\"", ["line 2", "lisen"]),
            ("\n\ncache = \"much\"", ["line 3", "'much' is not a size"]),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(
                phrases.iter().all(|phrase| error.contains(phrase)),
                "{error}"
            );
        }
        let error = format!("{:#}", parse("key = \"c2VjcmV0\" x").unwrap_err());
        assert!(!error.contains("c2VjcmV0"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn keys_come_from_no_file_that_others_may_write() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("orrery.toml");
        for (text, is_taken) in [("key = \"YQ==\"", false), ("memory = true", true)] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o646)).unwrap();
            assert_eq!(super::layer(&path).is_ok(), is_taken, "{text}");
        }
    }
}
