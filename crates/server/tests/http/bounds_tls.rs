//! The same bounds behind TLS.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_body_util::Empty;
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use orrery_server::{Limits, TlsIdentity, self_signed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{World, start_limited};

const WAIT_MAX: Duration = Duration::from_mins(1);

struct Secured {
    world: World,
    connector: TlsConnector,
}

fn start() -> Secured {
    let limits = Limits {
        header_time: Duration::from_secs(2),
        stall_time: Duration::from_secs(2),
        ..Limits::default()
    };
    let tls = self_signed(&["localhost".to_owned()], SystemTime::now()).unwrap();
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(tls.certificate_pem.as_bytes());
    roots.add(certificate.unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Secured {
        world: start_limited(limits, Some(TlsIdentity::new(tls).unwrap())),
        connector: TlsConnector::from(Arc::new(config)),
    }
}

impl Secured {
    async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.world.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        self.connector.connect(name, stream).await.unwrap()
    }
}

async fn expect_close(mut stream: TlsStream<TcpStream>) {
    let mut buffer = [0; 4_096];
    let end = async { while matches!(stream.read(&mut buffer).await, Ok(1..)) {} };
    timeout(WAIT_MAX, end).await.expect("the server hangs up");
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
    let secured = start();
    run(async {
        expect_close(secured.connect().await).await;
        let mut half = secured.connect().await;
        half.write_all(b"GET /ready HT").await.unwrap();
        expect_close(half).await;
    });
}

#[test]
fn answers_that_nobody_reads_are_given_up() {
    let secured = start();
    run(async {
        let mut lazy = secured.connect().await;
        let request = b"GET /_explorer/ HTTP/1.1\r\nhost: localhost\r\n\r\n";
        // The client reads no answers. Once they fill the buffers of the connection, the server
        // reads no more requests.
        let asking = async { while lazy.write_all(request).await.is_ok() {} };
        timeout(WAIT_MAX, asking)
            .await
            .expect("the server hangs up");
        let stream = secured.connect().await;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::get("/ready").header("host", "localhost");
        let answer = sender.send_request(request.body(Empty::<bytes::Bytes>::new()).unwrap());
        assert_eq!(answer.await.unwrap().status(), 200);
    });
}
