//! Accepts the connections of clients in direct mode until the shutdown signal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::connection::DirectConnection;
use crate::governor::{AdmittedConnection, Socket};
use crate::state::State;
use crate::{Error, TlsIdentity, tls};

/// When the machine has no file handles left, a pause lets some connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long open requests may run after the shutdown signal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// A listener for direct mode, bound and not yet serving.
pub(crate) struct DirectListener {
    socket: TcpListener,
    address: SocketAddr,
    acceptor: TlsAcceptor,
}

impl DirectListener {
    pub(crate) async fn bind(
        address: SocketAddr,
        identity: &TlsIdentity,
    ) -> Result<DirectListener, Error> {
        let failed = |source| Error::ListenDirect { address, source };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        Ok(DirectListener {
            address: socket.local_addr().map_err(failed)?,
            socket,
            acceptor: tls::direct_acceptor(identity)?,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is ready, and returns when the open requests have ended.
    pub(crate) async fn run(self, state: Arc<State>, shutdown: impl Future<Output = ()>) {
        // The sender tells all connections to end; each one holds a receiver until it has ended.
        let (stopping, is_stopping) = watch::channel(false);
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = &mut shutdown => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    // The register is that of all clients, and its sweep runs with the listener of
                    // HTTP. Dropping `stream` closes a connection that it does not admit.
                    let Some(admitted) = state.governor.clients().admit() else {
                        continue;
                    };
                    let connection = Arc::clone(admitted.connection());
                    let serving = serve(
                        stream,
                        admitted,
                        self.acceptor.clone(),
                        Arc::clone(&state),
                        is_stopping.clone(),
                        Handle::current(),
                    );
                    let low_priority = state.governor.low_priority_threads();
                    low_priority.serve(&connection, serving);
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection in direct mode could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop((self.socket, is_stopping));
        // No connection may be left to hear it.
        let _ = stopping.send(true);
        if timeout(SHUTDOWN_TIMEOUT, stopping.closed()).await.is_err() {
            tracing::warn!("some requests in direct mode were still running and were cut off");
        }
    }
}

/// Serves one connection: TLS, and then frames.
async fn serve(
    stream: TcpStream,
    admitted: AdmittedConnection,
    acceptor: TlsAcceptor,
    state: Arc<State>,
    is_stopping: watch::Receiver<bool>,
    listener_runtime: Handle,
) {
    // Small answers must not wait for the acknowledgement of earlier packets.
    let _ = stream.set_nodelay(true);
    let connection = Arc::clone(admitted.connection());
    let socket = Socket::new(stream, admitted);
    let mut stopping = is_stopping.clone();
    // The register closes a connection whose handshake takes too long.
    let accepted = tokio::select! {
        accepted = acceptor.accept(socket) => accepted,
        _ = stopping.wait_for(|is_stopping| *is_stopping) => return,
    };
    match accepted {
        Ok(stream) => {
            DirectConnection::new(state, connection, listener_runtime)
                .serve(stream, is_stopping)
                .await;
        }
        Err(error) => {
            state.direct_counts.ended_without_context();
            tracing::debug!(%error, "a TLS handshake in direct mode failed");
        }
    }
}
