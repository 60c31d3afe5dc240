//! Signed requests over one plain connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::http_date;

/// The public key of the emulator.
const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl Response {
    pub(crate) fn header(&self, wanted: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_str())
    }
}

impl Client {
    /// A server that takes longer than `patience` to answer is as good as gone.
    pub(crate) fn connect(address: SocketAddr, patience: Duration) -> io::Result<Client> {
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_nodelay(true)?;
        Ok(Client {
            stream: BufReader::new(stream),
        })
    }

    /// A failure says that the answer did not come, not that the request was not carried out.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        resource: &str,
        link: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<Response> {
        let date = http_date::now();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2020-07-15\r\nx-ms-date: {date}\r\n\
             Authorization: {}\r\nContent-Length: {}\r\n",
            authorization(method, resource, link, &date),
            body.len()
        );
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request += "\r\n";
        request += body;
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.receive()
    }

    fn receive(&mut self) -> io::Result<Response> {
        let status_line = self.line()?;
        let status = status_line
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| malformed(&status_line))?;
        let (mut length, mut chunked) = (0, false);
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(|_| malformed(&line))?;
            }
            chunked |= name.eq_ignore_ascii_case("transfer-encoding");
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut body = Vec::new();
        if chunked {
            loop {
                let line = self.line()?;
                let size = usize::from_str_radix(&line, 16).map_err(|_| malformed(&line))?;
                self.exactly(size, &mut body)?;
                self.line()?;
                if size == 0 {
                    break;
                }
            }
        } else {
            self.exactly(length, &mut body)?;
        }
        Ok(Response {
            status,
            body: String::from_utf8(body).unwrap(),
            headers,
        })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if !line.ends_with("\r\n") {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.len() - 2);
        Ok(line)
    }

    fn exactly(&mut self, count: usize, body: &mut Vec<u8>) -> io::Result<()> {
        let start = body.len();
        body.resize(start + count, 0);
        self.stream.read_exact(&mut body[start..])
    }
}

fn malformed(line: &str) -> io::Error {
    io::Error::other(format!("malformed answer: {line}"))
}

pub(crate) fn authorization(method: &str, resource: &str, link: &str, date: &str) -> String {
    let text = format!(
        "{}\n{resource}\n{link}\n{}\n\n",
        method.to_ascii_lowercase(),
        date.to_ascii_lowercase()
    );
    let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(KEY).unwrap()).unwrap();
    mac.update(text.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let signature = signature
        .replace('+', "%2b")
        .replace('/', "%2f")
        .replace('=', "%3d");
    format!("type%3dmaster%26ver%3d1.0%26sig%3d{signature}")
}
