//! Logs on standard error, with colours where a person can see them.

use std::io::{self, IsTerminal};

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;

use crate::env_vars;

/// The storage engine logs every flush and compaction; only its warnings concern an operator.
const QUIET: &str = "fjall=warn,lsm_tree=warn";

pub(crate) fn install(filter: &str) -> Result<()> {
    // The filter of the user stands last and so can override `QUIET`.
    let filter = EnvFilter::try_new(format!("{QUIET},{filter}"))
        .with_context(|| format!("'{filter}' is not a log filter"))?;
    let no_color = std::env::var_os(env_vars::NO_COLOR).is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(!no_color && io::stderr().is_terminal())
        .init();
    Ok(())
}
