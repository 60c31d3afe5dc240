//! Frames a second and one-way latency of links: `cargo run --release -p orrery-account --example
//! links`. A local link, the same with a delay, and one over TLS on loopback.

#![expect(
    clippy::print_stdout,
    reason = "an example that prints its measurements"
)]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use orrery_account::{Inbox, LinkFrame, Links, PeerIdentity, RemoteLinks, peer_certificates};
use orrery_regions::{
    Epoch, Heartbeat, Millis, RecordBody, RecordPage, RecordPageHeader, RegionId, ReplicaMessage,
    Sequence, StreamId, StreamRecord, VersionVector,
};
use tokio::net::TcpListener;

const A: RegionId = RegionId(0);
const B: RegionId = RegionId(1);
const PINGS: u64 = 5000;
const RECORDS: u64 = 64;
const RECORD_BYTES: usize = 1024;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (a, _) = Links::new(A);
    let (b, inbox) = Links::new(B);
    Links::join(&a, &b);
    let inbox = measure("local", &a, inbox).await?;
    let shape = a.link(B).ok_or("joined")?;
    shape.delay(Duration::from_millis(20));
    latency("local, delayed by 20 ms", &a, inbox, 200).await?;

    let directory = tempfile::tempdir()?;
    let regions = ["a".to_owned(), "b".to_owned()];
    peer_certificates::write(directory.path(), &regions)?;
    let identity = |name| PeerIdentity::load(&directory.path().join(name));
    let ((a, _inbox), (b, inbox)) = (Links::new(A), Links::new(B));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let listening = RemoteLinks::new(&b, "account", "b", identity("b")?)?;
    listening.listen(listener);
    let dialling = RemoteLinks::new(&a, "account", "a", identity("a")?)?;
    let started = Instant::now();
    dialling.connect("b", &address)?;
    a.name(B, "b");
    while !a.link(B).is_some_and(|shape| shape.report().is_connected) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    println!("TLS: connected after {:?}", started.elapsed());
    measure("TLS", &a, inbox).await?;
    println!("lost: {}", a.dropped());
    Ok(())
}

async fn measure(name: &str, links: &Links, inbox: Inbox) -> Result<Inbox, Box<dyn Error>> {
    let inbox = throughput(&format!("{name}, beats"), links, inbox, beat, 500_000, 2000).await?;
    let page = |round| page(round * RECORDS);
    let name_pages = format!("{name}, pages of {RECORDS} records of {RECORD_BYTES} bytes");
    let inbox = throughput(&name_pages, links, inbox, page, 20_000, 100).await?;
    latency(name, links, inbox, PINGS).await
}

/// The throughput with a fixed window of frames in flight.
async fn throughput(
    name: &str,
    links: &Links,
    mut inbox: Inbox,
    frame: impl Fn(u64) -> LinkFrame + Send + Sync + 'static,
    count: u64,
    window: u64,
) -> Result<Inbox, Box<dyn Error>> {
    let received = Arc::new(AtomicU64::new(0));
    let reader = tokio::spawn({
        let received = Arc::clone(&received);
        async move {
            while received.fetch_add(1, Ordering::Relaxed) + 1 < count {
                inbox.recv().await;
            }
            inbox.recv().await;
            inbox
        }
    });
    let links = links.clone();
    let started = Instant::now();
    let sender = tokio::task::spawn_blocking(move || {
        for round in 0..count {
            while round.saturating_sub(received.load(Ordering::Relaxed)) > window {
                std::thread::yield_now();
            }
            links.send(B, frame(round));
        }
    });
    sender.await?;
    let inbox = reader.await?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{name}: {:.0} frames/s", count as f64 / seconds);
    Ok(inbox)
}

/// The latency from the call that sends a heartbeat to its arrival in the inbox, one at a time.
async fn latency(
    name: &str,
    links: &Links,
    mut inbox: Inbox,
    count: u64,
) -> Result<Inbox, Box<dyn Error>> {
    let (send, sent) = std::sync::mpsc::channel::<Instant>();
    let (next, go) = std::sync::mpsc::channel();
    let reader = tokio::spawn(async move {
        let mut times = Vec::new();
        while (times.len() as u64) < count && inbox.recv().await.is_some() {
            let now = Instant::now();
            times.extend(sent.recv().map(|sent| now.saturating_duration_since(sent)));
            // The sending task may have ended.
            let _ = next.send(());
        }
        (times, inbox)
    });
    let links = links.clone();
    tokio::task::spawn_blocking(move || {
        for round in 0..count {
            let _ = send.send(Instant::now());
            links.send(B, beat(round));
            if go.recv().is_err() {
                break;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    })
    .await?;
    let (mut times, inbox) = reader.await?;
    times.sort();
    let at = |part: usize| {
        times
            .get(times.len() * part / 100)
            .copied()
            .unwrap_or_default()
    };
    println!("{name}: one way {:?} (median), {:?} (99 %)", at(50), at(99));
    Ok(inbox)
}

fn beat(round: u64) -> LinkFrame {
    LinkFrame::Account(ReplicaMessage::Heartbeat(Heartbeat {
        epoch: Epoch(256),
        round,
        commit: Sequence(round),
        stable_prefix: Sequence(round),
    }))
}

fn page(after: u64) -> LinkFrame {
    let data = bytes::Bytes::from_static(&[b'a'; RECORD_BYTES]);
    let record = |sequence| StreamRecord {
        stream: StreamId::Account,
        origin: A,
        epoch: Epoch(256),
        sequence: Sequence(sequence),
        deps: VersionVector::default(),
        body: RecordBody::Data(data.clone()),
    };
    LinkFrame::Account(ReplicaMessage::Page(RecordPage {
        head: RecordPageHeader {
            epoch: Epoch(256),
            after: Sequence(after),
            after_epoch: Epoch(256),
            commit: Sequence(after),
            stable_prefix: Sequence(after),
            last: Some(Sequence(after + RECORDS)),
            confirmed_age_ms: Some(1),
            asked: Millis(1),
        },
        records: (after + 1..=after + RECORDS).map(record).collect(),
    }))
}
