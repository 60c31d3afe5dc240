//! The yardstick: a server that does nothing but answer.
//!
//! It repeats one recorded response - status, headers, body - to every request, over the same HTTP
//! library a real server would use. What it reaches is the limit of sockets, HTTP and the client
//! on this machine; the distance to it is what the database itself costs. It runs in a process of
//! its own, as the server under test does: the calling program executes itself with
//! [`BARE_SUBCOMMAND`], which must lead to [`serve_bare`].

use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tokio::net::TcpListener;

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::request::{RequestWriter, Target};
use crate::response::header_lines;

/// The hidden subcommand that serves a recorded response.
pub const BARE_SUBCOMMAND: &str = "bench-bare";

/// Repeat a recorded response to every request, until standard input ends.
#[derive(Args, Clone, Debug)]
pub struct BareOptions {
    /// File with the recorded response
    #[arg(long, value_name = "FILE")]
    pub response: PathBuf,

    /// Address to listen on; the one taken is printed as the only line of standard output
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

/// Serves until standard input is closed, which happens when the parent process ends.
pub async fn serve_bare(options: BareOptions) -> Result<()> {
    let text = std::fs::read(&options.response)
        .with_context(|| format!("reading {}", options.response.display()))?;
    let answer = serde_json::from_slice::<Recorded>(&text)
        .context("reading the recorded response")?
        .answer()?;
    let listener = TcpListener::bind(options.listen)
        .await
        .with_context(|| format!("listening on {}", options.listen))?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(stop);
    });
    tokio::select! {
        result = accept(listener, answer) => result,
        _ = stopped => Ok(()),
    }
}

async fn accept(listener: TcpListener, answer: Response<Full<Bytes>>) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| repeat(request, answer.clone()));
            // A client that goes away is how a connection ends.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn repeat(
    request: Request<Incoming>,
    answer: Response<Full<Bytes>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if !request.body().is_end_stream() {
        // A body that breaks off ends the connection on its own.
        let _ = request.into_body().collect().await;
    }
    Ok(answer)
}

/// A response as it was seen on the wire.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Recorded {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Recorded {
    /// Reads one item and keeps the answer.
    pub(crate) async fn point_read(target: &Target, id: &str) -> Result<Self> {
        let mut connection = Connection::open(target.endpoint.clone())
            .await
            .with_context(|| format!("connecting to {}", target.endpoint.authority()))?;
        let mut writer = RequestWriter::new(target.clone());
        writer.read(id, id);
        let response = connection
            .exchange(writer.bytes())
            .await
            .context("recording a read")?;
        let body = String::from_utf8_lossy(response.body).into_owned();
        if response.head.status != 200 {
            bail!(
                "recording a read of {id}: answer {}: {body}",
                response.head.status
            );
        }
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let headers = header_lines(response.head_bytes)
            .map(|(name, value)| (text(name), text(value)))
            .collect();
        Ok(Self {
            status: response.head.status,
            headers,
            body,
        })
    }

    /// The response with its framing made that of one whole body.
    fn answer(self) -> Result<Response<Full<Bytes>>> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes())?;
            if name != TRANSFER_ENCODING && name != CONNECTION && name != CONTENT_LENGTH {
                headers.append(name, HeaderValue::from_str(value)?);
            }
        }
        headers.insert(CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = StatusCode::from_u16(self.status)?;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// A running bare server; it ends with this value.
pub(crate) struct BareServer {
    child: Child,
    pub(crate) endpoint: Endpoint,
    _response: NamedTempFile,
}

impl BareServer {
    /// Blocks until the server listens.
    pub(crate) fn start(program: Option<&Path>, recorded: &Recorded) -> Result<Self> {
        let program = match program {
            Some(program) => program.to_owned(),
            None => std::env::current_exe().context("finding the running program")?,
        };
        let mut response = NamedTempFile::new().context("creating a file for the response")?;
        serde_json::to_writer(&mut response, recorded).context("writing the response")?;
        response.flush().context("writing the response")?;

        let mut child = Command::new(&program)
            .arg(BARE_SUBCOMMAND)
            .arg("--response")
            .arg(response.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {} {BARE_SUBCOMMAND}", program.display()))?;
        let mut address = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut address)
                .context("reading its address")?;
        }
        let endpoint = Endpoint::parse(&format!("http://{}", address.trim()))
            .context("the bare server did not print its address");
        match endpoint {
            Ok(endpoint) => Ok(Self {
                child,
                endpoint,
                _response: response,
            }),
            Err(error) => {
                let _ = child.kill().and_then(|()| child.wait().map(drop));
                Err(error)
            }
        }
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait().map(drop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_keeps_headers_and_mends_framing() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let recorded = Recorded {
            status: 200,
            headers: vec![
                header("date", "Sun, 15 Nov 2026 06:00:00 GMT"),
                header("Transfer-Encoding", "chunked"),
                header("x-ms-request-charge", "1"),
            ],
            body: "{}".to_owned(),
        };
        let answer = recorded.answer().unwrap();
        let names: Vec<_> = answer.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["date", "x-ms-request-charge", "content-length"]);
        assert_eq!(answer.headers()[CONTENT_LENGTH], "2");
    }
}
