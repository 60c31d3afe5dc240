//! Requests over HTTP/1.1, for honest clients and attackers.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use orrery_client::{RequestDate, SignaturePayload, Signer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A longer head means that the server answers with garbage.
const HEAD_BYTES_MAX: usize = 256 * 1024;

/// The credential with which a client signs its requests.
#[derive(Clone)]
pub(crate) enum Credential {
    Key(Signer),
    /// A resource token.
    Token(String),
    None,
}

/// A request without the headers of its credential.
#[derive(Clone, Copy, Default)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

/// A complete answer of the server.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The first header with this name, whatever its case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A client with one connection, which it opens again when the server has closed it.
pub(crate) struct Client {
    address: SocketAddr,
    credential: Credential,
    date: RequestDate,
    stream: Option<TcpStream>,
    received: Vec<u8>,
}

impl Client {
    /// Makes a client that connects with its first request.
    pub(crate) fn new(address: SocketAddr, credential: Credential) -> Client {
        Client {
            address,
            credential,
            date: RequestDate::default(),
            stream: None,
            received: Vec::new(),
        }
    }

    /// Makes a client that signs with an account key.
    pub(crate) fn signed(address: SocketAddr, key: &str) -> Result<Client> {
        let key = key.parse().map_err(anyhow::Error::msg)?;
        Ok(Client::new(address, Credential::Key(Signer::new(&key))))
    }

    /// Makes a client that presents a resource token.
    pub(crate) fn with_token(address: SocketAddr, token: &str) -> Client {
        Client::new(address, Credential::Token(token.to_owned()))
    }

    /// Connects, unless the client has a connection already.
    pub(crate) async fn connect(&mut self) -> Result<()> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address)
                .await
                .context("connecting")?;
            // Nagle's algorithm would add its delay to the measured latencies.
            stream.set_nodelay(true)?;
            // Bytes of an earlier connection do not belong to the next answer.
            self.received.clear();
            self.stream = Some(stream);
        }
        Ok(())
    }

    /// Sends a request and waits for the whole answer. An error ends the connection.
    pub(crate) async fn request(&mut self, request: Request<'_>) -> Result<Answer> {
        let result = self.exchange(request).await;
        if result.is_err() {
            // The rest of a broken answer would be taken for the next answer.
            self.stream = None;
        }
        result
    }

    async fn exchange(&mut self, request: Request<'_>) -> Result<Answer> {
        self.connect().await?;
        let message = self.message(request, request.body.len());
        let stream = self.stream.as_mut().context("not connected")?;
        stream.write_all(&message).await.context("sending")?;
        let (head_length, length) = loop {
            if let Some(found) = head(&self.received)? {
                break found;
            }
            if stream.read_buf(&mut self.received).await? == 0 {
                bail!("the server closed the connection");
            }
        };
        while self.received.len() < head_length + length {
            if stream.read_buf(&mut self.received).await? == 0 {
                bail!("the server closed the connection within an answer");
            }
        }
        // Bytes after this answer begin the next answer.
        let rest = self.received.split_off(head_length + length);
        let body = self.received.split_off(head_length);
        let head = std::mem::replace(&mut self.received, rest);
        let head = String::from_utf8_lossy(&head).into_owned();
        let answer = Answer {
            status: status(&head)?,
            head,
            body,
        };
        // The server closes such a connection, and the next request needs another one.
        if answer.header("connection") == Some("close") {
            self.stream = None;
        }
        Ok(answer)
    }

    /// Sends only the head of a request that announces a body of `body_length` bytes.
    pub(crate) async fn begin(&mut self, request: Request<'_>, body_length: usize) -> Result<()> {
        self.connect().await?;
        let message = self.message(request, body_length);
        let stream = self.stream.as_mut().context("not connected")?;
        stream.write_all(&message).await.context("sending")
    }

    /// Sends raw bytes, for instance a part of a body.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let stream = self.stream.as_mut().context("not connected")?;
        stream.write_all(bytes).await.context("sending")
    }

    /// Waits until the server sends bytes or closes the connection, and returns the bytes.
    pub(crate) async fn receive(&mut self) -> Result<Vec<u8>> {
        let stream = self.stream.as_mut().context("not connected")?;
        let mut bytes = Vec::new();
        stream.read_buf(&mut bytes).await?;
        Ok(bytes)
    }

    /// Formats a request. `body_length` may contradict the body on purpose.
    fn message(&mut self, request: Request<'_>, body_length: usize) -> Vec<u8> {
        let mut message = format!(
            "{} {} HTTP/1.1\r\nhost: {}\r\nx-ms-version: 2020-07-15\r\ncontent-length: {body_length}\r\n",
            request.method, request.path, self.address
        )
        .into_bytes();
        for (name, value) in request.headers {
            message.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        message.extend_from_slice(&self.authorization(request.method, request.path));
        message.extend_from_slice(b"\r\n");
        message.extend_from_slice(request.body);
        message
    }

    /// The headers `x-ms-date` and, with a credential, `authorization`, each with its line end.
    pub(crate) fn authorization(&mut self, method: &str, path: &str) -> Vec<u8> {
        self.date.refresh();
        let mut lines = format!("x-ms-date: {}\r\n", self.date.header()).into_bytes();
        match &self.credential {
            Credential::None => return lines,
            Credential::Token(token) => {
                lines.extend_from_slice(b"authorization: ");
                lines.extend_from_slice(percent(token).as_bytes());
            }
            Credential::Key(signer) => {
                lines.extend_from_slice(b"authorization: ");
                let (resource_type, link) = resource(path);
                let signed = SignaturePayload {
                    verb: &method.to_ascii_lowercase(),
                    resource_type,
                    link,
                };
                signer.authorize(&mut lines, signed, self.date.lower_case());
            }
        }
        lines.extend_from_slice(b"\r\n");
        lines
    }
}

/// The type of the resource and the signed link, for a path of names.
fn resource(path: &str) -> (&str, &str) {
    let path = path.trim_matches('/');
    let segments = path.split('/').count();
    match path.rsplit_once('/') {
        None => (path, ""),
        // An odd number of segments ends with a type, for instance `dbs/d/colls`: the link is its
        // parent.
        Some((link, kind)) if segments % 2 == 1 => (kind, link),
        Some((parent, _)) => (parent.rsplit('/').next().unwrap_or(parent), path),
    }
}

/// Percent-encodes the characters of a resource token that need it.
fn percent(token: &str) -> String {
    token
        // The percent sign first, or the later escapes would be escaped again.
        .replace('%', "%25")
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D")
        .replace('&', "%26")
        .replace(';', "%3B")
}

/// The length of the head of an answer and of its body, once the head is complete.
fn head(received: &[u8]) -> Result<Option<(usize, usize)>> {
    let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
        if received.len() > HEAD_BYTES_MAX {
            bail!("the head of an answer does not end");
        }
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&received[..end]);
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    Ok(Some((end + 4, length.unwrap_or(0))))
}

/// The status from the first line of a head.
fn status(head: &str) -> Result<u16> {
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
    status.context("the answer has no status")
}
