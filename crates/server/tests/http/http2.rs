//! HTTP/2 without TLS, by prior knowledge.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::signature::authorization;
use crate::support::{ITEMS, PK, PRIMARY, start};

#[test]
fn several_requests_share_a_connection() {
    let world = start();
    let date = world.client().date();
    let address = world.address;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        for (method, path, body, status) in [
            ("GET", "/", "", 200),
            ("POST", ITEMS, r#"{"id":"a","pk":"p"}"#, 201),
            ("POST", ITEMS, r#"{"id":"a","pk":"p"}"#, 409),
            ("GET", "/dbs/d/colls/c/docs/a", "", 200),
            ("DELETE", "/dbs/d/colls/c/docs/a", "", 204),
        ] {
            let request = Request::builder()
                .method(method)
                .uri(format!("http://{address}{path}"))
                .header("authorization", authorization(PRIMARY, method, path, &date))
                .header("x-ms-date", &date)
                .header(PK, r#"["p"]"#)
                .body(Full::new(Bytes::from(body)))
                .unwrap();
            let mut sender = sender.clone();
            sender.ready().await.unwrap();
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{method} {path}");
            assert!(response.headers().contains_key("x-ms-request-charge"));
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body.is_empty(), status == 204);
        }
    });
}
