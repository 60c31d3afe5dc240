//! Logs on standard error, with colours where a person can see them.

use std::io::{self, IsTerminal};

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;

use crate::env_vars;

/// The storage engine tells a lot; what it warns of is worth hearing.
const QUIET: &str = "fjall=warn,lsm_tree=warn";

pub(crate) fn install(filter: &str) -> Result<()> {
    let filter = EnvFilter::try_new(format!("{QUIET},{filter}"))
        .with_context(|| format!("'{filter}' is not a log filter"))?;
    let colourless = std::env::var_os(env_vars::NO_COLOR).is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(!colourless && io::stderr().is_terminal())
        .init();
    Ok(())
}
