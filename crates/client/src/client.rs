//! Sends requests to an account over one connection.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use tokio::time::sleep;

use crate::error::Error;
use crate::server_connection::ServerConnection;
use crate::session_tokens::SessionTokens;
use crate::{Endpoint, Key, Refusal, Request, Signer, TrustArguments};

/// How often a request that was refused for its rate is repeated. Official SDKs use the same
/// number.
const THROTTLED_MAX: u32 = 9;

/// The status and the sub-status of a request whose session token the server cannot satisfy.
const SESSION_NOT_AVAILABLE: (u16, Option<&str>) = (404, Some("1002"));

/// A client with one connection, which sends one request at a time.
pub struct Client {
    connection: ServerConnection,
    signer: Signer,
    /// The session tokens, so that a read sees the writes of this client.
    sessions: SessionTokens,
}

/// The answer of a server that did not refuse the request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Client {
    /// Makes a client. The first request opens the connection.
    pub fn new(endpoint: Endpoint, key: &Key, trust: TrustArguments) -> Client {
        Client {
            connection: ServerConnection::new(endpoint, trust),
            signer: Signer::new(key),
            sessions: SessionTokens::default(),
        }
    }

    /// Sends a request, repeats it while the server throttles it, and returns an answer that is no
    /// refusal.
    pub async fn send(&mut self, request: &Request) -> Result<Answer, Error> {
        let mut throttled = 0;
        loop {
            let session = self.sessions.token(request.container());
            let authority = self.connection.endpoint.authority();
            // Each attempt is signed again: a wait may take the date of a signature out of its
            // limits.
            let message = request.message(&authority, &self.signer, session.as_deref())?;
            let answer = self.connection.exchange(message).await?;
            if self.record_session(request, &answer) {
                continue;
            }
            // 304 answers a conditional read and is no refusal.
            if answer.status < 300 || answer.status == 304 {
                return Ok(answer);
            }
            if answer.status != 429 || throttled == THROTTLED_MAX {
                return Err(Refusal::of(&answer).into());
            }
            throttled += 1;
            let wait = answer.text("x-ms-retry-after-ms");
            let wait = wait.and_then(|wait| wait.parse().ok()).unwrap_or(100);
            sleep(Duration::from_millis(wait)).await;
        }
    }

    /// Records the session token of an answer. A refusal has one too. Returns whether the server
    /// refused the request for the session of a former container of the name: the request is then
    /// sent again without this session.
    fn record_session(&mut self, request: &Request, answer: &Answer) -> bool {
        let container = request.container();
        let content_path = answer.text("x-ms-content-path");
        // The content path of an answer about items is the resource id of their container.
        let rid = content_path.filter(|_| request.has_session());
        // This refusal repeats the token of the request, which is no position of the server.
        if (answer.status, answer.text("x-ms-substatus")) == SESSION_NOT_AVAILABLE {
            return self.sessions.end_of_other(container, rid);
        }
        if let Some(token) = answer.text("x-ms-session-token") {
            self.sessions.record(container, rid, token);
        }
        false
    }
}

impl Answer {
    /// A header as text. None if it is absent or no visible ASCII.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The charge of the request, or 0 if the server names none.
    pub fn charge(&self) -> f64 {
        let charge = self.text("x-ms-request-charge");
        charge.and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<orrery_json::Value, Error> {
        orrery_json::parse(&self.body).map_err(|error| Error::Answer(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write as _};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::sync::mpsc;
    use std::thread;

    use hyper::Method;
    use tokio::runtime::Builder;

    use super::*;

    /// Answers one request on each connection, in turn with these, and closes it without a word.
    fn server(answers: &'static [&'static str]) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for (connection, answer) in listener.incoming().zip(answers) {
                let mut connection = connection.unwrap();
                first_line(&connection);
                connection.write_all(answer.as_bytes()).unwrap();
            }
        });
        Client::new(
            endpoint.parse().unwrap(),
            &Key::well_known(),
            TrustArguments::default(),
        )
    }

    /// Reads a request without a body.
    fn head(connection: &TcpStream) -> Vec<String> {
        let lines = BufReader::new(connection.try_clone().unwrap()).lines();
        let head = lines.map(Result::unwrap);
        head.take_while(|line| !line.is_empty()).collect()
    }

    /// Reads a request without a body, and returns its first line.
    fn first_line(connection: &TcpStream) -> String {
        head(connection).first().cloned().unwrap_or_default()
    }

    fn send(client: &mut Client, times: usize) -> Vec<Result<u16, String>> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let request = Request::feed(Method::GET, "dbs", "");
        runtime.block_on(async {
            let mut found = Vec::new();
            for _ in 0..times {
                let answer = client.send(&request).await;
                found.push(
                    answer
                        .map(|answer| answer.status)
                        .map_err(|error| error.to_string()),
                );
                sleep(Duration::from_millis(20)).await;
            }
            found
        })
    }

    #[test]
    fn a_connection_that_was_closed_is_made_anew() {
        const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        let mut client = server(&[OK, OK, OK]);
        assert_eq!(send(&mut client, 3), [Ok(200), Ok(200), Ok(200)]);
    }

    /// As a shell does it, whose runtime stands still while a person types.
    #[test]
    fn a_connection_that_was_closed_while_nothing_ran_is_made_anew() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (closed, is_closed) = mpsc::channel();
        let requests = thread::spawn(move || {
            let mut begun = Vec::new();
            for connection in listener.incoming().take(3) {
                let mut connection = connection.unwrap();
                begun.push(first_line(&connection));
                let answer = b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";
                connection.write_all(answer).unwrap();
                // The client closes the last connection.
                connection.shutdown(Shutdown::Write).unwrap();
                closed.send(()).unwrap();
            }
            begun
        });
        let mut client = Client::new(
            endpoint.parse().unwrap(),
            &Key::well_known(),
            TrustArguments::default(),
        );
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        for _ in 0..3 {
            let write = Request::feed(Method::POST, "dbs", "").body("{}");
            let answer = runtime.block_on(client.send(&write)).unwrap();
            assert_eq!(answer.status, 201);
            is_closed.recv().unwrap();
        }
        assert_eq!(requests.join().unwrap(), ["POST /dbs HTTP/1.1"; 3]);
    }

    /// A server may close a connection while a request travels to it.
    #[test]
    fn only_reads_are_sent_twice() {
        for (method, expected) in [
            (Method::GET, Ok(200)),
            (Method::POST, Err("the connection broke")),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let endpoint = format!("http://{}", listener.local_addr().unwrap());
            thread::spawn(move || {
                for connection in listener.incoming() {
                    let mut connection = connection.unwrap();
                    first_line(&connection);
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    connection.write_all(answer).unwrap();
                    // The next request on this connection is read and never answered.
                    first_line(&connection);
                }
            });
            let mut client = Client::new(
                endpoint.parse().unwrap(),
                &Key::well_known(),
                TrustArguments::default(),
            );
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let request = Request::feed(method, "dbs", "");
            runtime.block_on(client.send(&request)).unwrap();
            let second = runtime.block_on(client.send(&request));
            match (second, expected) {
                (Ok(answer), Ok(status)) => assert_eq!(answer.status, status),
                (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
                (found, expected) => panic!("{found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn a_server_without_capacity_is_asked_again() {
        const BUSY: &str = "HTTP/1.1 429 Too Many Requests\r\nx-ms-retry-after-ms: 1\r\n\
                            connection: close\r\ncontent-length: 0\r\n\r\n";
        const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(send(&mut server(&[BUSY, BUSY, OK]), 1), [Ok(200)]);
        let ever = &[BUSY; 10];
        let found = send(&mut server(ever), 1);
        assert_eq!(found, [Err("the server answers 429".to_owned())]);
    }

    /// The session token in each request that comes, whose answers have these tokens, of this
    /// container.
    fn tokens_sent(answers: &'static [(&'static str, &'static str, &'static str)]) -> Vec<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = thread::spawn(move || {
            let mut sent = Vec::new();
            for (connection, (status, rid, token)) in listener.incoming().zip(answers) {
                let mut connection = connection.unwrap();
                let lines = head(&connection);
                let lines = lines
                    .iter()
                    .filter_map(|line| line.strip_prefix("x-ms-session-token: "));
                sent.push(lines.collect());
                let answer = format!(
                    "HTTP/1.1 {status}\r\nx-ms-content-path: {rid}\r\nx-ms-session-token: {token}\r\n\
                     connection: close\r\ncontent-length: 0\r\n\r\n"
                );
                connection.write_all(answer.as_bytes()).unwrap();
            }
            sent
        });
        let mut client = Client::new(
            endpoint.parse().unwrap(),
            &Key::well_known(),
            TrustArguments::default(),
        );
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let request = Request::feed(Method::GET, "docs", "dbs/d/colls/c");
        while !requests.is_finished() {
            // An answer of 404 is an error, and its token counts.
            let _ = runtime.block_on(client.send(&request));
        }
        requests.join().unwrap()
    }

    #[test]
    fn a_write_in_one_range_leaves_the_session_of_another() {
        let sent = tokens_sent(&[
            ("200 OK", "rid", "0:-1#5"),
            ("200 OK", "rid", "1:-1#7"),
            ("404 Not Found", "rid", "1:-1#8"),
            ("200 OK", "rid", "0:-1#4"),
            ("200 OK", "rid", "0:-1#6"),
        ]);
        let both = ["0:-1#5", "0:-1#5,1:-1#7", "0:-1#5,1:-1#8", "0:-1#5,1:-1#8"];
        assert_eq!(sent[0], "");
        assert_eq!(sent[1..], both);
    }

    #[test]
    fn the_session_of_a_deleted_container_ends() {
        const UNAVAILABLE: &str = "404 Not Found\r\nx-ms-substatus: 1002";
        let sent = tokens_sent(&[
            ("200 OK", "old", "0:-1#50"),
            // A region that is behind: the token stays.
            (UNAVAILABLE, "old", "0:-1#50"),
            // The request is sent again without the token.
            (UNAVAILABLE, "new", "0:-1#50"),
            ("200 OK", "new", "0:-1#1"),
            ("200 OK", "new", "0:-1#2"),
        ]);
        assert_eq!(sent, ["", "0:-1#50", "0:-1#50", "", "0:-1#1"]);
    }

    #[test]
    fn a_connection_that_breaks_is_told() {
        let found = send(
            &mut server(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"]),
            1,
        );
        assert!(
            found[0]
                .as_ref()
                .unwrap_err()
                .contains("the connection broke")
        );
    }
}
