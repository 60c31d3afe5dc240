use std::path::Path;

use orrery_regions::RegionId;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;

use super::*;
use crate::link::testing::{beat, page, round, sequences};
use crate::{Inbox, LinkFrame, ShapedLink};

const A: RegionId = RegionId(0);
const B: RegionId = RegionId(1);
const LONG: Duration = Duration::from_mins(1);

/// Lost connections are dialled again soon, and a busy machine makes no region count as silent.
const QUICK: Timing = Timing {
    greeting: Duration::from_secs(30),
    pause_min: Duration::from_millis(5),
    pause_max: Duration::from_millis(50),
    silence: Duration::from_secs(30),
    heard: Duration::from_millis(20),
};
/// A region that does not read loses its connection soon.
const STRICT: Timing = Timing {
    silence: Duration::from_millis(400),
    ..QUICK
};

/// Certificates of an authority, for some regions.
struct Certificates(TempDir);

impl Certificates {
    fn new(regions: &[&str]) -> Certificates {
        let directory = TempDir::new().unwrap();
        let regions: Vec<String> = regions.iter().map(|&region| region.to_owned()).collect();
        peer_certificates::write(directory.path(), &regions).unwrap();
        Certificates(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn of(&self, slug: &str) -> PeerIdentity {
        PeerIdentity::load(&self.path().join(slug)).unwrap()
    }
}

struct Node {
    links: Links,
    inbox: Inbox,
    remote: RemoteLinks,
}

impl Node {
    fn new(me: RegionId, region: &str, identity: PeerIdentity) -> Node {
        Node::over(Links::new(me), region, identity)
    }

    fn over((links, inbox): (Links, Inbox), region: &str, identity: PeerIdentity) -> Node {
        Node::timed((links, inbox), region, identity, QUICK)
    }

    fn timed(
        (links, inbox): (Links, Inbox),
        region: &str,
        identity: PeerIdentity,
        timing: Timing,
    ) -> Node {
        let remote = RemoteLinks::with_timing(&links, "account", region, identity, timing).unwrap();
        Node {
            links,
            inbox,
            remote,
        }
    }

    async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        self.remote.listen(listener);
        address
    }

    async fn next(&mut self) -> (RegionId, LinkFrame) {
        let next = timeout(LONG, self.inbox.recv()).await;
        next.expect("a frame arrives").expect("links stay")
    }
}

/// `A`, which is connected to `B` and knows its number.
async fn pair() -> (Node, Node, Arc<ShapedLink>) {
    let certificates = Certificates::new(&["West US", "North Europe"]);
    let a = Node::new(A, "West US", certificates.of("west-us"));
    let b = Node::new(B, "North Europe", certificates.of("north-europe"));
    let address = b.listen().await;
    a.remote.connect("North Europe", &address).unwrap();
    a.links.name(B, "North Europe");
    let shape = a.links.link(B).unwrap();
    connected(&shape).await;
    (a, b, shape)
}

async fn until(mut holds: impl FnMut() -> bool) {
    let polling = async {
        while !holds() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(LONG, polling).await.expect("it becomes true");
}

/// An address that another test took for a moment is waited for.
async fn bind(address: &str) -> TcpListener {
    let bound = async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return listener,
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(LONG, bound).await.expect("the address is free")
}

async fn connected(shape: &ShapedLink) {
    until(|| shape.report().is_connected).await;
}

#[tokio::test]
async fn frames_arrive_in_order() {
    let (a, mut b, shape) = pair().await;
    for sequence in 0..2000 {
        let frame = if sequence % 100 == 0 {
            page(sequence, sequence + 1..=sequence + 1000)
        } else {
            beat(sequence)
        };
        a.links.send(B, frame);
        tokio::task::yield_now().await;
    }
    for sequence in 0..2000 {
        let (from, frame) = b.next().await;
        assert_eq!(from, A);
        if sequence % 100 == 0 {
            assert_eq!(frame, page(sequence, sequence + 1..=sequence + 1000));
        } else {
            assert_eq!(round(&frame), Some(sequence));
        }
    }
    let report = shape.report();
    assert_eq!((report.frames, report.lost), (2000, 0));
}

#[tokio::test]
async fn a_region_that_joins_learns_the_numbers() {
    let certificates = Certificates::new(&["West US", "North Europe"]);
    let mut a = Node::new(A, "West US", certificates.of("west-us"));
    let mut b = Node::over(
        Links::joining(),
        "north-europe",
        certificates.of("north-europe"),
    );
    a.remote.connect("North Europe", &b.listen().await).unwrap();
    b.remote.connect("West US", &a.listen().await).unwrap();
    // Without a number no frame can be sent to the region.
    a.links.send(B, beat(1));
    assert_eq!((a.links.dropped(), b.links.me()), (1, None));
    a.links.name(B, "North Europe");
    connected(&a.links.link(B).unwrap()).await;
    a.links.send(B, beat(2));
    assert_eq!(b.next().await, (A, beat(2)));
    assert_eq!(b.links.me(), Some(B));
    connected(&b.links.link(A).unwrap()).await;
    b.links.send(A, beat(3));
    assert_eq!(a.next().await, (B, beat(3)));
    // A region that unlinks another one still receives its frames, but sends none.
    b.links.unlink(A);
    a.links.send(B, beat(4));
    assert_eq!(b.next().await, (A, beat(4)));
    assert!(b.links.link(A).is_none());
    b.links.name(A, "West US");
    assert!(b.links.link(A).is_some());
    // The region rejects a frame for another number.
    a.links.name(RegionId(7), "North Europe");
    assert!(a.links.link(B).is_none());
    a.links.send(RegionId(7), beat(5));
    a.links.name(B, "North Europe");
    a.links.send(B, beat(6));
    assert_eq!(b.next().await, (A, beat(6)));
}

/// Tries to connect and returns the error on the dialling side.
async fn refusal(region: &str, account: &str, identity: PeerIdentity, to: (&str, &str)) -> String {
    let (links, _inbox) = Links::new(A);
    let remote = RemoteLinks::with_timing(&links, account, region, identity, QUICK).unwrap();
    let slug = Slug::new(to.0).unwrap();
    let dialer = dial::Dialer {
        local: Arc::clone(&remote.local),
        region: to.0.to_owned(),
        address: to.1.to_owned(),
        queue: links.attach_remote(&slug),
        slug,
    };
    match dialer.connect().await {
        Err(broken) => broken.to_string(),
        Ok(mut stream) => closed(&mut stream).await,
    }
}

/// The dialling side shows its certificate before it learns of the refusal.
async fn closed(stream: &mut TlsStream<TcpStream>) -> String {
    use tokio::io::AsyncReadExt;
    match timeout(LONG, stream.read(&mut [0; 9])).await {
        Ok(Ok(0)) => "closed".to_owned(),
        Ok(Ok(_)) => "it is heard".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "open".to_owned(),
    }
}

#[tokio::test]
async fn only_regions_of_the_account_are_connected() {
    let ours = Certificates::new(&["West US", "North Europe", "Mallory"]);
    let foreign = Certificates::new(&["West US", "North Europe"]);
    let mut b = Node::new(B, "North Europe", ours.of("north-europe"));
    let address = b.listen().await;
    let to = ("North Europe", address.as_str());
    let refused = [
        // Neither side trusts the authority of the other.
        (
            refusal("West US", "account", foreign.of("west-us"), to).await,
            "BadSignature",
        ),
        // The certificate of the accepting side names another region.
        (
            refusal(
                "West US",
                "account",
                ours.of("west-us"),
                ("Mallory", &address),
            )
            .await,
            "not valid for name",
        ),
        (
            refusal("West US", "other", ours.of("west-us"), to).await,
            "it is a region of the account 'account'",
        ),
    ];
    for (why, expected) in refused {
        assert!(why.contains(expected), "{why}");
    }
    assert!(b.inbox.try_recv().is_err() && b.remote.local.reading().is_empty());
}

#[tokio::test]
async fn a_listener_refuses_foreign_certificates_and_wrong_names() {
    let ours = Certificates::new(&["West US", "North Europe", "Mallory"]);
    let foreign = Certificates::new(&["West US"]);
    let mut b = Node::new(B, "North Europe", ours.of("north-europe"));
    let address = b.listen().await;
    let name = Slug::new("North Europe").unwrap().dns_name();
    // Trusts the listener, but is certified by another authority, or by none.
    let mixed = TempDir::new().unwrap();
    for (from, file) in [
        (ours.path().join("ca.pem"), "ca.pem"),
        (
            foreign.path().join("west-us/certificate.pem"),
            "certificate.pem",
        ),
        (foreign.path().join("west-us/key.pem"), "key.pem"),
    ] {
        std::fs::copy(from, mixed.path().join(file)).unwrap();
    }
    let anonymous = {
        use rustls::pki_types::pem::PemObject;
        let mut roots = rustls::RootCertStore::empty();
        let pem = std::fs::read(ours.path().join("ca.pem")).unwrap();
        let authority = rustls::pki_types::CertificateDer::from_pem_slice(&pem).unwrap();
        roots.add(authority).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tokio_rustls::TlsConnector::from(Arc::new(config))
    };
    let greeting = |from: &str| crate::codec::Greeting {
        account: "account".to_owned(),
        from: from.to_owned(),
        is_placed: false,
        to: "North Europe".to_owned(),
    };
    let mixed = PeerIdentity::load(mixed.path()).unwrap();
    for (connector, expected) in [
        (mixed.connector, "DecryptError"),
        (anonymous, "CertificateRequired"),
        // The certificate is valid for another region of the account.
        (ours.of("mallory").connector, "closed"),
    ] {
        let socket = TcpStream::connect(&address).await.unwrap();
        let name = rustls::pki_types::ServerName::try_from(name.clone()).unwrap();
        let mut stream = connector.connect(name, socket).await.unwrap();
        framing::write_greeting(&mut stream, &greeting("West US").encode())
            .await
            .unwrap();
        let why = match framing::read_greeting(&mut stream).await {
            Ok(_) => closed(&mut stream).await,
            Err(broken) => broken.to_string(),
        };
        assert!(why.contains(expected), "{why}");
    }
    assert!(b.inbox.try_recv().is_err() && b.remote.local.reading().is_empty());
    // With its own name the region is accepted.
    let a = Node::new(A, "Mallory", ours.of("mallory"));
    a.links.name(B, "North Europe");
    a.remote.connect("North Europe", &address).unwrap();
    connected(&a.links.link(B).unwrap()).await;
    a.links.send(B, beat(1));
    assert_eq!(b.next().await, (A, beat(1)));
}

#[tokio::test]
async fn an_identity_is_for_one_region() {
    let certificates = Certificates::new(&["West US"]);
    let (links, _inbox) = Links::new(A);
    let identity = certificates.of("west-us");
    let refused = RemoteLinks::new(&links, "account", "North Europe", identity);
    assert!(
        matches!(refused, Err(PeerError::OtherName(name)) if name.starts_with("north-europe."))
    );
    let again = peer_certificates::write(certificates.path(), &["West US".to_owned()]);
    assert!(matches!(again, Err(PeerError::Write(..))));
    let alike = peer_certificates::generate(&["a b".to_owned(), "A-B".to_owned()]);
    assert!(matches!(alike, Err(PeerError::Alike(..))));
    assert!(matches!(
        PeerIdentity::load(Path::new("nowhere")),
        Err(PeerError::Read(..))
    ));
}

/// The authority of a directory certifies regions that are added later.
#[tokio::test]
async fn a_later_certificate_is_trusted() {
    let certificates = Certificates::new(&["West US"]);
    let a = Node::new(A, "West US", certificates.of("west-us"));
    peer_certificates::write(certificates.path(), &["North Europe".to_owned()]).unwrap();
    let mut b = Node::new(B, "North Europe", certificates.of("north-europe"));
    a.remote.connect("North Europe", &b.listen().await).unwrap();
    a.links.name(B, "North Europe");
    connected(&a.links.link(B).unwrap()).await;
    a.links.send(B, beat(1));
    assert_eq!(b.next().await, (A, beat(1)));
}

#[tokio::test]
async fn a_listener_that_was_away_is_found_again() {
    let certificates = Certificates::new(&["West US", "North Europe"]);
    let a = Node::new(A, "West US", certificates.of("west-us"));
    let b = Node::new(B, "North Europe", certificates.of("north-europe"));
    let address = b.listen().await;
    a.remote.connect("North Europe", &address).unwrap();
    a.links.name(B, "North Europe");
    let shape = a.links.link(B).unwrap();
    connected(&shape).await;
    drop(b);
    until(|| !shape.report().is_connected).await;
    let before = shape.report().lost;
    a.links.send(B, beat(1));
    assert_eq!(shape.report().lost, before + 1);
    let mut b = Node::new(B, "North Europe", certificates.of("north-europe"));
    b.remote.listen(bind(&address).await);
    connected(&shape).await;
    a.links.send(B, beat(2));
    assert_eq!(b.next().await, (A, beat(2)));
    // It may also be elsewhere.
    a.remote.connect("North Europe", &b.listen().await).unwrap();
    until(|| {
        a.links.send(B, beat(3));
        matches!(b.inbox.try_recv(), Ok((A, frame)) if frame == beat(3))
    })
    .await;
    a.remote.disconnect("North Europe");
    until(|| !shape.report().is_connected).await;
    assert!(a.links.link(B).is_none());
}

#[tokio::test]
async fn a_link_to_another_process_is_shaped_like_any() {
    let (a, mut b, shape) = pair().await;
    let delay = Duration::from_millis(60);
    shape.delay(delay);
    let sent = tokio::time::Instant::now();
    a.links.send(B, page(0, 1..=1));
    assert_eq!(sequences(&b.next().await.1), [1]);
    assert!(sent.elapsed() >= delay);
    shape.delay(Duration::ZERO);
    shape.pause();
    a.links.send(B, page(1, 2..=9));
    a.links.send(B, beat(1));
    assert_eq!(b.next().await.1, beat(1));
    shape.step(2);
    assert_eq!(sequences(&b.next().await.1), [2, 3]);
    a.links.send(B, page(3, 4..=5));
    shape.resume();
    assert_eq!(sequences(&b.next().await.1), [4, 5]);
    shape.cut();
    a.links.send(B, beat(2));
    // It is dialled again, but stays cut.
    connected(&shape).await;
    a.links.send(B, beat(3));
    shape.resume();
    a.links.send(B, beat(4));
    assert_eq!(b.next().await.1, beat(4));
}

/// A region that is connected and greets, but does not read.
async fn deaf(identity: PeerIdentity) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (links, _inbox) = Links::new(B);
    let remote =
        RemoteLinks::with_timing(&links, "account", "North Europe", identity, QUICK).unwrap();
    let task = tokio::spawn(async move {
        let mut streams = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            let mut stream = remote.local.identity.acceptor.accept(socket).await.unwrap();
            greet::as_listener(&mut stream, &remote.local)
                .await
                .unwrap();
            streams.push(stream);
        }
    });
    (address, task)
}

#[tokio::test]
async fn a_region_that_does_not_read_takes_no_memory() {
    let certificates = Certificates::new(&["West US", "North Europe"]);
    let (address, deaf) = deaf(certificates.of("north-europe")).await;
    let identity = certificates.of("west-us");
    let a = Node::timed(Links::new(A), "West US", identity, STRICT);
    a.links.name(B, "North Europe");
    a.remote.connect("North Europe", &address).unwrap();
    let shape = a.links.link(B).unwrap();
    connected(&shape).await;
    let megabyte = || LinkFrame::Endpoint("a".repeat(1024 * 1024));
    let queue = shape.queue().unwrap();
    for _ in 0..200 {
        a.links.send(B, megabyte());
        tokio::task::yield_now().await;
        assert!(queue.bytes() <= 33 * 1024 * 1024);
    }
    let lost = shape.report().lost;
    assert!(lost > 100, "{lost} of 200 MB are lost");
    // The connection is closed and dialled again, repeatedly.
    until(|| {
        a.links.send(B, beat(1));
        queue.connections() > 2
    })
    .await;
    // A cut does not wait until it reads.
    connected(&shape).await;
    for _ in 0..20 {
        a.links.send(B, megabyte());
    }
    shape.cut();
    assert_eq!(queue.bytes(), 0);
    deaf.abort();
}

#[tokio::test]
async fn a_number_belongs_to_one_region() {
    let certificates = Certificates::new(&["West US", "North Europe", "East Asia"]);
    let mut b = Node::new(B, "North Europe", certificates.of("north-europe"));
    let address = b.listen().await;
    b.links.name(A, "West US");
    b.remote.connect("North Europe", &address).unwrap();
    assert!(b.links.link(B).is_none());
    let dial = |number, region: &str, slug| {
        let node = Node::new(number, region, certificates.of(slug));
        node.links.name(B, "North Europe");
        node.remote.connect("North Europe", &address).unwrap();
        node
    };
    // First with the number of another region, then with the number of the receiving region.
    for number in [A, B] {
        let liar = dial(number, "East Asia", "east-asia");
        connected(&liar.links.link(B).unwrap()).await;
        liar.links.send(B, beat(1));
        liar.links.send(B, beat(2));
        drop(liar);
    }
    let a = dial(A, "West US", "west-us");
    connected(&a.links.link(B).unwrap()).await;
    a.links.send(B, beat(3));
    assert_eq!(b.next().await, (A, beat(3)));
    let honest = dial(RegionId(2), "East Asia", "east-asia");
    connected(&honest.links.link(B).unwrap()).await;
    honest.links.send(B, beat(4));
    assert_eq!(b.next().await, (RegionId(2), beat(4)));
}

#[tokio::test]
async fn a_newer_connection_replaces_the_older() {
    let certificates = Certificates::new(&["West US", "North Europe"]);
    let mut b = Node::new(B, "North Europe", certificates.of("north-europe"));
    let address = b.listen().await;
    let mut before = None;
    for number in 0..3 {
        // The earlier processes still run, as if their links had been replaced without a message.
        let a = Node::new(A, "West US", certificates.of("west-us"));
        a.links.name(B, "North Europe");
        a.remote.connect("North Europe", &address).unwrap();
        connected(&a.links.link(B).unwrap()).await;
        // The earlier process also dials again, and may have replaced the connection for a moment.
        until(|| {
            a.links.send(B, beat(number));
            matches!(b.inbox.try_recv(), Ok((A, frame)) if frame == beat(number))
        })
        .await;
        assert_eq!(b.remote.local.reading().len(), 1);
        drop(before.replace(a));
    }
}

#[tokio::test]
async fn a_non_member_is_dialled_only_while_it_dials() {
    let certificates = Certificates::new(&["West US", "North Europe"]);
    let a = Node::new(A, "West US", certificates.of("west-us"));
    let b = Node::new(B, "North Europe", certificates.of("north-europe"));
    let (at_a, at_b) = (a.listen().await, b.listen().await);
    let pause = Duration::from_millis(200);
    a.links.name(B, "North Europe");
    a.links.set_members(["West US"].into_iter());
    a.remote.connect("North Europe", &at_b).unwrap();
    let shape = a.links.link(B).unwrap();
    sleep(pause).await;
    assert!(
        !shape.report().is_connected,
        "it left, and nobody hears of it"
    );
    b.remote.connect("West US", &at_a).unwrap();
    connected(&shape).await;
    b.remote.disconnect("West US");
    until(|| !a.remote.local.is_heard(&Slug::new("North Europe").unwrap())).await;
    // An open connection remains until it fails; then it is not dialled again.
    shape.cut();
    shape.resume();
    sleep(pause).await;
    assert!(!shape.report().is_connected);
    a.links.set_members(["West US", "North Europe"].into_iter());
    connected(&shape).await;
}

#[tokio::test]
async fn a_region_tells_whether_it_is_in_the_account() {
    let certificates = Certificates::new(&["a", "b", "c"]);
    let founder = Node::over(Links::joining(), "a", certificates.of("a"));
    let waits = Node::over(Links::joining(), "b", certificates.of("b"));
    assert_eq!(
        founder.remote.has_met_members(),
        Some(false),
        "there is nobody"
    );
    founder.remote.connect("b", &waits.listen().await).unwrap();
    until(|| founder.remote.has_met_members() == Some(false)).await;
    let member = Node::new(B, "c", certificates.of("c"));
    founder.remote.connect("c", &member.listen().await).unwrap();
    until(|| founder.remote.has_met_members() == Some(true)).await;
    // An unreachable region is not awaited.
    let other = Node::over(Links::joining(), "a", certificates.of("a"));
    other.remote.connect("b", "127.0.0.1:1").unwrap();
    until(|| other.remote.has_met_members() == Some(false)).await;
}

#[tokio::test]
async fn silent_connections_do_not_keep_a_region_away() {
    let certificates = Certificates::new(&["West US", "North Europe"]);
    let a = Node::new(A, "West US", certificates.of("west-us"));
    let patient = Timing {
        greeting: LONG * 10,
        ..QUICK
    };
    let b = Node::timed(
        Links::new(B),
        "North Europe",
        certificates.of("north-europe"),
        patient,
    );
    let address = b.listen().await;
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(&address).await.unwrap());
    }
    a.remote.connect("North Europe", &address).unwrap();
    a.links.name(B, "North Europe");
    connected(&a.links.link(B).unwrap()).await;
}
