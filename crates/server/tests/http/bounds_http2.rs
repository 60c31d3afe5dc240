//! The same bounds for clients of HTTP/2.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use orrery_server::Limits;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::signature::authorization;
use crate::support::{ITEMS, PK, PRIMARY, World, start_limited};

const WAIT_MAX: Duration = Duration::from_mins(1);

fn hasty() -> Limits {
    Limits {
        header_time: Duration::from_millis(500),
        stall_time: Duration::from_secs(1),
        memory_bytes: 64 * 1024 * 1024,
        ..Limits::default()
    }
}

/// A client that lets the server send so many bytes of each answer.
struct Client {
    sender: SendRequest<Full<Bytes>>,
    connection: JoinHandle<hyper::Result<()>>,
    address: SocketAddr,
    date: String,
}

impl Client {
    async fn connect(world: &World, window: u32) -> Client {
        let stream = TcpStream::connect(world.address).await.unwrap();
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(window)
            .handshake(TokioIo::new(stream))
            .await
            .unwrap();
        Client {
            sender,
            connection: tokio::spawn(connection),
            address: world.address,
            date: world.client().date(),
        }
    }

    async fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: Vec<u8>,
    ) -> hyper::Result<Response<Incoming>> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header(
                "authorization",
                authorization(PRIMARY, method, path, &self.date),
            )
            .header("x-ms-date", &self.date)
            .header(PK, r#"["p"]"#)
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }

    /// Waits until the server has hung up.
    async fn expect_close(self) {
        let ended = timeout(WAIT_MAX, self.connection).await;
        let _ = ended.expect("the server closes the connection");
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test);
}

#[test]
fn a_connection_without_a_request_is_closed() {
    let world = start_limited(hasty(), None);
    run(async {
        Client::connect(&world, 65_535).await.expect_close().await;
    });
}

#[test]
fn answers_that_wait_for_a_window_are_paid_for_and_given_up() {
    let world = start_limited(hasty(), None);
    let item = format!("{ITEMS}/a");
    world
        .client()
        .create_item("a", "p", &json!({"t": "x".repeat(1_900_000)}));
    run(async {
        let mut client = Client::connect(&world, 0).await;
        let mut waiting = Vec::new();
        let mut statuses = Vec::new();
        for _ in 0..60 {
            // The client is hung up on when the machine is slow.
            let Ok(response) = client.ask("GET", &item, Vec::new()).await else {
                break;
            };
            statuses.push(response.status().as_u16());
            waiting.push(response);
        }
        // 60 answers of 1.9 MB are more than half of the memory.
        assert!(statuses.contains(&200), "{statuses:?}");
        assert!(statuses.contains(&429), "{statuses:?}");
        client.expect_close().await;
    });
    let metrics = world.client().get("/metrics").text();
    let unread = r#"orrery_connections_closed_total{listener="clients",reason="unread"} 1"#;
    assert!(metrics.contains(unread), "{metrics}");
    run(async {
        let mut client = Client::connect(&world, 65_535).await;
        let response = client.ask("GET", &item, Vec::new()).await.unwrap();
        assert_eq!(response.status(), 200);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.len() > 1_900_000);
    });
}

#[test]
fn large_bodies_pass_through_small_windows() {
    let world = start_limited(Limits::default(), None);
    run(async {
        let mut client = Client::connect(&world, 65_535).await;
        let item = json!({"id": "a", "pk": "p", "t": "x".repeat(1_900_000)});
        let response = client.ask("POST", ITEMS, item.to_string().into()).await;
        assert_eq!(response.unwrap().status(), 201);
    });
}
