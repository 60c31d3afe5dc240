//! The paths of the workspace: its root, its target directory, and the server binary for the SDK
//! suites.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The paths that all steps share.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    cargo: PathBuf,
}

impl Workspace {
    /// Finds the paths from the location of this package and from the environment.
    pub(crate) fn find() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest
            .parent()
            .context("xtask lies inside the workspace")?
            .to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(chosen) => root.join(chosen),
            None => root.join("target"),
        };
        // cargo sets this variable to itself, so that all steps use the same toolchain.
        let cargo = env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from);
        Ok(Self {
            root,
            target,
            cargo,
        })
    }

    /// A cargo command in the root of the workspace.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// `ORRERY_BIN` if the caller set it, otherwise the binary of the release build.
    pub(crate) fn server_binary(&self) -> PathBuf {
        match env::var_os("ORRERY_BIN") {
            Some(chosen) => self.root.join(chosen),
            None => self.release_binary("orrery"),
        }
    }

    /// The load driver of the release build.
    pub(crate) fn load_driver(&self) -> PathBuf {
        self.release_binary("orrery-bench")
    }

    fn release_binary(&self, name: &str) -> PathBuf {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        self.target.join("release").join(file)
    }

    /// A command that runs a program in the folder of an SDK suite, with the path of the server
    /// binary.
    pub(crate) fn in_suite(&self, program: &Path, suite: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.suite(suite))
            .env("ORRERY_BIN", self.server_binary());
        command
    }

    /// The folder of an SDK suite.
    pub(crate) fn suite(&self, suite: &str) -> PathBuf {
        self.root.join("tests").join("sdk").join(suite)
    }
}
