//! Requests to an account, and to the operators' listener of a server.

mod endpoint;
mod key;
mod line;
mod operator;
mod percent;
mod refusal;
mod request;
mod signature;
mod trust;

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use tokio::time::sleep;

use crate::error::Error;

pub use endpoint::Endpoint;
pub use key::Key;
use line::Line;
pub use operator::Operator;
pub(crate) use percent::decoded as percent_decoded;
pub(crate) use refusal::{Mistake, Refusal};
pub(crate) use request::Request;
pub use trust::TrustArguments;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// How often a request that was refused for its rate is sent again, as official clients do it.
const THROTTLED_MAX: u32 = 9;

pub struct Client {
    line: Line,
    key: Key,
    /// By container, so that what was written here is read here.
    sessions: HashMap<String, String>,
}

/// What a server answered, if it did not refuse.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Client {
    pub fn new(endpoint: Endpoint, key: Key, trust: TrustArguments) -> Client {
        Client {
            line: Line::new(endpoint, trust),
            key,
            sessions: HashMap::new(),
        }
    }

    /// Sends a request, again while the server asks for patience, and gives what is not a refusal.
    pub(crate) async fn send(&mut self, request: &Request) -> Result<Answer, Error> {
        let mut throttled = 0;
        loop {
            let session = self.sessions.get(request.container()).map(String::as_str);
            let authority = self.line.endpoint.authority();
            let message = request.message(&authority, &self.key, session)?;
            let answer = self.line.exchange(message).await?;
            if let Some(token) = answer.text("x-ms-session-token") {
                self.sessions
                    .insert(request.container().to_owned(), token.to_owned());
            }
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
}

impl Answer {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn charge(&self) -> f64 {
        let charge = self.text("x-ms-request-charge");
        charge.and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    pub(crate) fn json(&self) -> Result<orrery_json::Value, Error> {
        orrery_json::parse(&self.body).map_err(|error| Error::Answer(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write as _};
    use std::net::TcpListener;
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
                let lines = BufReader::new(connection.try_clone().unwrap()).lines();
                for line in lines {
                    if line.unwrap().is_empty() {
                        break;
                    }
                }
                connection.write_all(answer.as_bytes()).unwrap();
            }
        });
        Client::new(
            endpoint.parse().unwrap(),
            Key::well_known(),
            TrustArguments::default(),
        )
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
                        .map_err(|error| error.sentence()),
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
