//! Makes a table of the files of the built explorer, so that the server binary contains them and
//! needs no files beside it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest as _, Sha256};

/// The built explorer, relative to this crate.
const BUILT: &str = "../../explorer/dist";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={BUILT}");
    println!("cargo::rerun-if-changed=build.rs");
    let root = Path::new(BUILT);
    let mut table = String::from("&[\n");
    for path in files(root)? {
        let name = path.strip_prefix(root).map_err(io::Error::other)?;
        let name = name.to_string_lossy().replace('\\', "/");
        let tag = Sha256::digest(fs::read(&path)?);
        let mut hex = String::new();
        for byte in tag.iter().take(8) {
            let _ = write!(hex, "{byte:02x}");
        }
        let include = |ending: &str| {
            format!(
                "include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{BUILT}/{name}{ending}\"))"
            )
        };
        let packed = |ending: &str| {
            let exists = root.join(format!("{name}{ending}")).exists();
            if exists {
                format!("Some({})", include(ending))
            } else {
                "None".to_owned()
            }
        };
        let _ = writeln!(
            table,
            "Asset {{ name: \"{name}\", tag: \"{hex}\", plain: {}, brotli: {}, gzip: {} }},",
            include(""),
            packed(".br"),
            packed(".gz"),
        );
    }
    table.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("explorer_assets.rs"), table)
}

/// The files that browsers request, sorted by path. Their compressed forms are not in the list.
fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let packed = path
                .extension()
                .is_some_and(|ending| ending == "br" || ending == "gz");
            if path.is_dir() {
                waiting.push(path);
            } else if !packed {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
