//! HTTP/1.1 on a socket, just enough to see exactly what a server sends.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than any answer takes; a test that waits this long has found a hang.
const WAIT_MAX: Duration = Duration::from_mins(1);

pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
        stream.set_write_timeout(Some(WAIT_MAX)).unwrap();
        Connection {
            stream,
            received: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends what the server is willing to take; it may hang up before the end.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    pub(crate) fn end_sending(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Whether the server sends bytes or closes the connection within this time.
    pub(crate) fn hears_within(&self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
        !peeked.is_err_and(|error| {
            [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind())
        })
    }

    #[track_caller]
    pub(crate) fn receive(&mut self, method: &str) -> Response {
        self.try_receive(method)
            .expect("the server closed the connection without an answer")
    }

    /// The next final answer, or none if the server closes the connection before its first byte.
    #[track_caller]
    pub(crate) fn try_receive(&mut self, method: &str) -> Option<Response> {
        loop {
            let response = self.receive_any(method)?;
            if response.status >= 200 {
                return Some(response);
            }
        }
    }

    /// The next answer, also one that only announces another.
    #[track_caller]
    pub(crate) fn receive_any(&mut self, method: &str) -> Option<Response> {
        let end = loop {
            if let Some(at) = find(&self.received, b"\r\n\r\n") {
                break at;
            }
            if !self.fill() {
                assert!(
                    self.received.is_empty(),
                    "half an answer: {:?}",
                    String::from_utf8_lossy(&self.received)
                );
                return None;
            }
        };
        let head = String::from_utf8_lossy(&self.received[..end]).into_owned();
        self.received.drain(..end + 4);
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap();
        assert!(line.starts_with("HTTP/1."), "not an answer: {line:?}");
        let mut response = Response {
            status: line[9..12].parse().unwrap(),
            headers: lines
                .map(|line| line.split_once(':').expect("a header has a colon"))
                .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
                .collect(),
            body: Vec::new(),
        };
        let bodyless = response.status < 200 || [204, 304].contains(&response.status);
        if bodyless || method == "HEAD" {
            return Some(response);
        }
        if response.header("transfer-encoding").is_some() {
            response.body = self.chunks();
        } else {
            let length = response.header("content-length").map(str::parse);
            let length: usize = length.expect("an answer has a length").unwrap();
            response.body = self.take(length);
        }
        Some(response)
    }

    /// Waits for the end of the connection, and returns the received bytes that no response has
    /// used.
    pub(crate) fn ends_with(&mut self) -> String {
        while self.fill() {}
        String::from_utf8_lossy(&self.received).into_owned()
    }

    /// Whether the server has closed the connection, without sending more.
    pub(crate) fn is_closed(&mut self) -> bool {
        !self.fill() && self.received.is_empty()
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                if let Some(at) = find(&self.received, b"\r\n") {
                    break at;
                }
                assert!(self.fill(), "the body ended early");
            };
            let size = String::from_utf8_lossy(&self.received[..end]).into_owned();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            self.received.drain(..end + 2);
            let mut chunk = self.take(size + 2);
            chunk.truncate(size);
            body.extend_from_slice(&chunk);
            if size == 0 {
                return body;
            }
        }
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        while self.received.len() < length {
            assert!(self.fill(), "the body ended early");
        }
        self.received.drain(..length).collect()
    }

    /// Reads more; false at the end of the stream.
    fn fill(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                true
            }
            // The process was stopped for a moment.
            Err(error) if error.kind() == ErrorKind::Interrupted => self.fill(),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                panic!("the server does not answer")
            }
            Err(_) => false,
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes
        .windows(pattern.len())
        .position(|window| window == pattern)
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.text()))
    }

    pub(crate) fn charge(&self) -> f64 {
        let charge = self.header("x-ms-request-charge");
        charge.expect("every answer has a charge").parse().unwrap()
    }

    pub(crate) fn lsn(&self) -> u64 {
        self.header("lsn").expect("an LSN").parse().unwrap()
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Response {
        assert_eq!(
            self.status,
            status,
            "{}",
            String::from_utf8_lossy(&self.body)
        );
        assert!(self.charge() > 0.0, "a charge of nothing");
        self
    }

    #[track_caller]
    pub(crate) fn expect_one_of(&self, statuses: &[u16]) {
        let body = String::from_utf8_lossy(&self.body);
        assert!(statuses.contains(&self.status), "{}: {body}", self.status);
    }

    /// Checks a refusal: status, sub-status (0 for none), code, a piece of the message, and what
    /// all refusals have in common.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, substatus: u32, code: &str, text: &str) {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{body}");
        let sent = self.header("x-ms-substatus");
        let expected = (substatus != 0).then(|| substatus.to_string());
        assert_eq!(sent, expected.as_deref(), "substatus of {body}");
        let json = self.json();
        assert_eq!(json["code"], code, "{body}");
        let message = json["message"].as_str().expect("a message");
        assert!(message.contains(text), "no {text:?} in {message:?}");
        let activity_id = self.header("x-ms-activity-id").expect("an activity id");
        assert!(
            message.contains(&format!("\r\nActivityId: {activity_id}, ")),
            "{message:?}"
        );
        assert_eq!(self.header("etag"), None);
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert!(self.charge() > 0.0, "a charge of nothing: {body}");
    }
}
