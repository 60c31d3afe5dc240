//! Signals that ask the server to stop: SIGTERM and Ctrl-C.
//!
//! A thread with a small runtime of its own waits for the signals, so that the process reacts to a
//! second signal whatever the main runtime is busy with: opening the store, loading a seed,
//! finishing requests, closing files.

use std::thread;

use anyhow::{Context, Result};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// The exit status that shells report for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Becomes ready at the first signal; a second one ends the process at once.
pub(crate) fn listen() -> Result<oneshot::Receiver<()>> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime for signals")?;
    let mut signals = {
        // The signal handlers exist when this function returns: a signal right after the start must
        // not kill the process before it can close its store.
        let _inside = runtime.enter();
        Signals::catch().context("cannot catch signals")?
    };
    let (first, stop) = oneshot::channel();
    let wait = async move {
        signals.next().await;
        tracing::info!("stopping; a second signal stops at once");
        let _ = first.send(());
        signals.next().await;
        // The second signal skips every orderly end; the log makes the store whole at the next
        // start.
        std::process::exit(INTERRUPTED);
    };
    thread::Builder::new()
        .name("orrery-signals".to_owned())
        .spawn(move || runtime.block_on(wait))
        .context("cannot start a thread for signals")?;
    Ok(stop)
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn catch() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn catch() -> std::io::Result<Signals> {
        tokio::signal::windows::ctrl_c().map(Signals)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
