//! The suite of the official Rust SDK. The suite is a separate workspace, so that its dependencies
//! stay out of the workspace of Orrery.

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    if let Some(absent) = super::absent(workspace, "rust", "Cargo.toml") {
        return Ok(absent);
    }
    let mut suite = workspace.cargo(&["test", "--no-fail-fast", "--quiet"]);
    suite
        .current_dir(workspace.suite("rust"))
        // A separate directory, so that the two workspaces do not overwrite each other's builds.
        .env("CARGO_TARGET_DIR", workspace.target.join("sdk-rust"))
        .env("ORRERY_BIN", workspace.server_binary());
    console.count(&mut suite, counts::cargo)
}
