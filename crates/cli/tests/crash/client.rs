//! Signed requests over one plain connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use orrery_client::{Key, RequestDate, SignaturePayload, Signer};

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

    /// Sends one request. A failure means that no answer came, not that the server did nothing.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        resource: &str,
        link: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<Response> {
        let date = RequestDate::now();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2020-07-15\r\nx-ms-date: {}\r\n\
             Authorization: {}\r\nContent-Length: {}\r\n",
            date.header(),
            authorization(method, resource, link, date.header()),
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

/// The value of `authorization` under the well-known key.
pub(crate) fn authorization(method: &str, resource: &str, link: &str, date: &str) -> String {
    let signed = SignaturePayload {
        verb: &method.to_ascii_lowercase(),
        resource_type: resource,
        link,
    };
    Signer::new(&Key::well_known()).authorization(signed, &date.to_ascii_lowercase())
}
