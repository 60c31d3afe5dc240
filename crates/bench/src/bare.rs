//! The yardstick: a server that answers every request and does nothing else.
//!
//! The bare server repeats one recorded response - status, headers, body - to every request, over
//! the same HTTP library that a real server uses. Its rate is the limit of sockets, HTTP and the
//! client on this machine; the difference between its rate and a server's rate is the cost of the
//! database. The bare server runs in a process of its own, as the server under test does: the
//! calling program executes itself with [`BARE_SUBCOMMAND`], which must lead to [`serve_bare`].

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

/// Serves until standard input is closed. The parent process holds the other end of the pipe, so
/// the server ends when the parent ends, even if the parent is killed.
pub async fn serve_bare(options: BareOptions) -> Result<()> {
    let text = std::fs::read(&options.response)
        .with_context(|| format!("reading {}", options.response.display()))?;
    let answer = serde_json::from_slice::<RecordedResponse>(&text)
        .context("reading the recorded response")?
        .answer()?;
    let listener = TcpListener::bind(options.listen)
        .await
        .with_context(|| format!("listening on {}", options.listen))?;
    // The parent reads this line to learn the port.
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    // A thread and not a task: reading standard input blocks, and tokio would wait for such a read
    // at the end of its runtime.
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(stop);
    });
    tokio::select! {
        result = accept(listener, answer) => result,
        _ = stopped => Ok(()),
    }
}

/// Accepts connections forever. Each connection gets a copy of the recorded response.
async fn accept(listener: TcpListener, answer: Response<Full<Bytes>>) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        // Without this option the kernel delays small writes, and the delay would be measured.
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| repeat(request, answer.clone()));
            // A connection ends when its client closes it; this is no error.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// Answers any request with the recorded response.
async fn repeat(
    request: Request<Incoming>,
    answer: Response<Full<Bytes>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // A body that stays unread would make hyper close the connection.
    if !request.body().is_end_stream() {
        // A body that breaks off ends the connection by itself.
        let _ = request.into_body().collect().await;
    }
    Ok(answer)
}

/// A response as received, with the headers in their order.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct RecordedResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl RecordedResponse {
    /// Sends one point read and records the response.
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

    /// The recorded response with a fixed content length: hyper frames the body again, so the
    /// recorded framing headers must not be repeated.
    fn answer(self) -> Result<Response<Full<Bytes>>> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes())?;
            // The recorded response may have been chunked; the repeated one has a known length.
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

/// A running bare server. Dropping this value kills the process.
pub(crate) struct BareServer {
    child: Child,
    pub(crate) endpoint: Endpoint,
    _response: NamedTempFile,
}

impl BareServer {
    /// Starts the server and blocks until the server listens.
    pub(crate) fn start(program: Option<&Path>, recorded: &RecordedResponse) -> Result<Self> {
        // Tests name a program, because a test binary has no hidden subcommand.
        let program = match program {
            Some(program) => program.to_owned(),
            None => std::env::current_exe().context("finding the running program")?,
        };
        let mut response = NamedTempFile::new().context("creating a file for the response")?;
        serde_json::to_writer(&mut response, recorded).context("writing the response")?;
        // The child opens the file by its name, so the bytes must have left this process's buffer.
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
                // Without the wait the killed child would stay in the process table.
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
        let recorded = RecordedResponse {
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
