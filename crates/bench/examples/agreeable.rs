//! A server process for the tests of the load driver. It announces itself the way a server should
//! and answers every request with success. It stores nothing, and ends in order on SIGTERM.

use std::convert::Infallible;
use std::io::Write as _;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    // The signal is caught before the announcement: a parent may send it as soon as it reads the
    // line.
    let stop = stop_signal()?;
    let endpoint = format!("http://{}/", listener.local_addr()?);
    writeln!(
        std::io::stdout(),
        "{{\"endpoint\":\"{endpoint}\",\"cacheBytes\":1000000,\"durability\":\"none\"}}"
    )?;
    tokio::select! {
        result = accept(listener) => result,
        () = stop => Ok(()),
    }
}

#[cfg(unix)]
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        terminate.recv().await;
    })
}

#[cfg(not(unix))]
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}

async fn accept(listener: TcpListener) -> anyhow::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let http = hyper::server::conn::http1::Builder::new();
        tokio::spawn(http.serve_connection(TokioIo::new(stream), service_fn(agree)));
    }
}

async fn agree(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let status = match *request.method() {
        Method::POST => 201,
        Method::DELETE => 204,
        _ => 200,
    };
    // A body that breaks off ends the connection by itself.
    let _ = request.into_body().collect().await;
    // A 204 must not have a body.
    let body = if status == 204 { "" } else { "{}" };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status.try_into().expect("the statuses above are valid");
    Ok(response)
}
