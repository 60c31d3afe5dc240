//! Signals that ask the server to stop: SIGTERM and Ctrl-C.
//!
//! They are waited for on a thread with a small runtime of its own, so that a second one is heard
//! whatever the server is busy with: opening, loading, finishing requests, closing its files.

use std::thread;

use anyhow::{Context, Result};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// What a shell reports for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Becomes ready at the first signal; a second one ends the process at once.
pub(crate) fn listen() -> Result<oneshot::Receiver<()>> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime for signals")?;
    let mut signals = {
        let _inside = runtime.enter();
        Signals::catch().context("cannot catch signals")?
    };
    let (first, stop) = oneshot::channel();
    let wait = async move {
        signals.next().await;
        tracing::info!("stopping; a second signal stops at once");
        let _ = first.send(());
        signals.next().await;
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
