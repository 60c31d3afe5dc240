//! Where things are: the root, the target directory, the server binary the SDK suites talk to.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    cargo: PathBuf,
}

impl Workspace {
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
        let cargo = env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from);
        Ok(Self {
            root,
            target,
            cargo,
        })
    }

    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// `ORRERY_BIN` if the caller set it, otherwise what the release build makes.
    pub(crate) fn server_binary(&self) -> PathBuf {
        match env::var_os("ORRERY_BIN") {
            Some(chosen) => self.root.join(chosen),
            None => self
                .target
                .join("release")
                .join(format!("orrery{}", env::consts::EXE_SUFFIX)),
        }
    }

    /// A program run inside the folder of an SDK suite, told which server to test.
    pub(crate) fn in_suite(&self, program: &Path, suite: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.suite(suite))
            .env("ORRERY_BIN", self.server_binary());
        command
    }

    pub(crate) fn suite(&self, suite: &str) -> PathBuf {
        self.root.join("tests").join("sdk").join(suite)
    }
}
