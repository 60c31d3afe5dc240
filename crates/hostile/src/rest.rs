//! Requests of clients over HTTP/1.1, honest or not.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use orrery_bench::{RequestDate, Signed, Signer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const HEAD_BYTES_MAX: usize = 256 * 1024;

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

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A client with one connection, which the client opens again when the server has closed it.
pub(crate) struct Client {
    address: SocketAddr,
    credential: Credential,
    date: RequestDate,
    stream: Option<TcpStream>,
    received: Vec<u8>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, credential: Credential) -> Client {
        Client {
            address,
            credential,
            date: RequestDate::default(),
            stream: None,
            received: Vec::new(),
        }
    }

    pub(crate) fn signed(address: SocketAddr, key: &str) -> Result<Client> {
        Ok(Client::new(address, Credential::Key(Signer::new(key)?)))
    }

    pub(crate) fn with_token(address: SocketAddr, token: &str) -> Client {
        Client::new(address, Credential::Token(token.to_owned()))
    }

    pub(crate) async fn connect(&mut self) -> Result<()> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address)
                .await
                .context("connecting")?;
            stream.set_nodelay(true)?;
            self.received.clear();
            self.stream = Some(stream);
        }
        Ok(())
    }

    /// Sends a request and waits for the whole answer. A failure ends the connection.
    pub(crate) async fn ask(&mut self, request: Request<'_>) -> Result<Answer> {
        let result = self.exchange(request).await;
        if result.is_err() {
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
        let rest = self.received.split_off(head_length + length);
        let body = self.received.split_off(head_length);
        let head = std::mem::replace(&mut self.received, rest);
        let head = String::from_utf8_lossy(&head).into_owned();
        let answer = Answer {
            status: status(&head)?,
            head,
            body,
        };
        if answer.header("connection") == Some("close") {
            self.stream = None;
        }
        Ok(answer)
    }

    /// Sends only the beginning of a request whose body is said to have `body_length` bytes.
    pub(crate) async fn begin(&mut self, request: Request<'_>, body_length: usize) -> Result<()> {
        self.connect().await?;
        let message = self.message(request, body_length);
        let stream = self.stream.as_mut().context("not connected")?;
        stream.write_all(&message).await.context("sending")
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let stream = self.stream.as_mut().context("not connected")?;
        stream.write_all(bytes).await.context("sending")
    }

    /// Waits until the server sends bytes or closes the connection, and returns the bytes.
    pub(crate) async fn hear(&mut self) -> Result<Vec<u8>> {
        let stream = self.stream.as_mut().context("not connected")?;
        let mut bytes = Vec::new();
        stream.read_buf(&mut bytes).await?;
        Ok(bytes)
    }

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
                let signed = Signed {
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

/// The type of the resource and the link that a signature covers, of a path of names.
fn resource(path: &str) -> (&str, &str) {
    let path = path.trim_matches('/');
    let segments = path.split('/').count();
    match path.rsplit_once('/') {
        None => (path, ""),
        Some((link, kind)) if segments % 2 == 1 => (kind, link),
        Some((parent, _)) => (parent.rsplit('/').next().unwrap_or(parent), path),
    }
}

fn percent(token: &str) -> String {
    token
        .replace('%', "%25")
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D")
        .replace('&', "%26")
        .replace(';', "%3B")
}

/// The length of the head of an answer and the length of its body, once the head has come in full.
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

fn status(head: &str) -> Result<u16> {
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
    status.context("the answer has no status")
}
