//! Accepts connections until told to stop, then lets open requests finish.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use orrery_account::Region;
use orrery_model::AccountKeys;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::service::handle;
use crate::state::State;
use crate::{Error, ServerOptions, tls};

/// Session tokens and continuations travel in headers and grow.
const HEADER_BYTES_MAX: u32 = 128 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// When the machine has no file handles left, a pause lets some connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    state: Arc<State>,
}

/// Reaches into a running server.
#[derive(Clone)]
pub struct ServerHandle {
    state: Arc<State>,
}

impl ServerHandle {
    /// From now on these keys sign requests, and no others.
    pub fn set_keys(&self, keys: &AccountKeys) {
        self.state.set_keys(keys);
    }
}

impl Server {
    /// Takes an address before there is a region to answer there.
    pub async fn reserve(address: SocketAddr) -> Result<TcpListener, Error> {
        let failed = |source| Error::Listen { address, source };
        TcpListener::bind(address).await.map_err(failed)
    }

    pub async fn bind(region: Arc<Region>, options: ServerOptions) -> Result<Server, Error> {
        let listener = Server::reserve(options.listen).await?;
        Server::on(listener, region, options)
    }

    /// Answers for a region on an address that was reserved.
    pub fn on(
        listener: TcpListener,
        region: Arc<Region>,
        options: ServerOptions,
    ) -> Result<Server, Error> {
        let acceptor = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let address = listener.local_addr().map_err(|source| Error::Listen {
            address: options.listen,
            source,
        })?;
        let state = State::new(region, options, address.ip().is_loopback());
        Ok(Server {
            listener,
            address,
            acceptor,
            state: Arc::new(state),
        })
    }

    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    pub fn handle(&self) -> ServerHandle {
        ServerHandle {
            state: Arc::clone(&self.state),
        }
    }

    /// Serves until `shutdown` is ready; returns when the open requests have ended.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let graceful = Arc::new(GracefulShutdown::new());
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut shutdown => break,
            };
            match accepted {
                Ok((stream, _)) => self.spawn_connection(stream, &graceful),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(self.listener);
        let Some(graceful) = Arc::into_inner(graceful) else {
            return;
        };
        if timeout(SHUTDOWN_TIMEOUT, graceful.shutdown())
            .await
            .is_err()
        {
            tracing::warn!("some requests were still running and were cut off");
        }
    }

    fn spawn_connection(&self, stream: TcpStream, graceful: &GracefulShutdown) {
        // Answers are small and waited for.
        let _ = stream.set_nodelay(true);
        let state = Arc::clone(&self.state);
        let watcher = graceful.watcher();
        let acceptor = self.acceptor.clone();
        tokio::spawn(async move {
            match acceptor {
                None => serve(stream, "http", state, watcher).await,
                Some(acceptor) => match timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => serve(stream, "https", state, watcher).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!("a TLS handshake took too long"),
                },
            }
        });
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    scheme: &'static str,
    state: Arc<State>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(handle(&state, scheme, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .half_close(true)
        // Answers are a few kilobytes: one buffer is cheaper than a list of them.
        .writev(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADER_BYTES_MAX);
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
