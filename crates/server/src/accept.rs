//! Accepts connections until told to stop, then lets open requests finish.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Session tokens and continuations travel in headers and grow.
const HEADER_BYTES_MAX: u32 = 128 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// When the machine has no file handles left, a pause lets some connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What stands behind a listener.
pub(crate) trait Answers: Send + Sync + 'static {
    fn answer(
        &self,
        scheme: &'static str,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// Serves until `shutdown` is ready; returns when the open requests have ended.
pub(crate) async fn run<A: Answers>(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    answers: Arc<A>,
    shutdown: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(
                    stream,
                    acceptor.clone(),
                    Arc::clone(&answers),
                    graceful.watcher(),
                );
                tokio::spawn(connection);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    if timeout(SHUTDOWN_TIMEOUT, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("some requests were still running and were cut off");
    }
}

async fn connection<A: Answers>(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    answers: Arc<A>,
    watcher: Watcher,
) {
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    match acceptor {
        None => serve(stream, "http", answers, watcher).await,
        Some(acceptor) => match timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => serve(stream, "https", answers, watcher).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        },
    }
}

async fn serve<A: Answers>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    scheme: &'static str,
    answers: Arc<A>,
    watcher: Watcher,
) {
    let service = service_fn(move |request| {
        let answers = Arc::clone(&answers);
        async move { Ok::<_, Infallible>(answers.answer(scheme, request).await) }
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
