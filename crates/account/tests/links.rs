//! Two regions that replicate over links: the state machines of `orrery-regions` with logs in memory,
//! and links that are shaped while they run. What a pause, a step and a cut promise is promised
//! about records in the other region, whatever is asked and answered twice on the way.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use orrery_account::{
    Inbox, LinkFrame, Links, PeerIdentity, RemoteLinks, ShapedLink, peer_certificates,
};
use orrery_regions::{
    Consistency, HardState, Membership, Millis, RecordPage, RegionId, Replica, ReplicaEffect,
    ReplicaMessage, ReplicaSettings, Restart, Sequence, SnapshotMetadata, StreamRecord,
};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

const A: RegionId = RegionId(0);
const B: RegionId = RegionId(1);
const TICK: Duration = Duration::from_millis(50);

type Log = Arc<Mutex<Vec<StreamRecord>>>;

/// A region whose records are durable at once, with a task that drives it.
struct Region {
    links: Links,
    log: Log,
    writes: mpsc::UnboundedSender<&'static str>,
}

impl Region {
    fn start(links: Links, inbox: Inbox, replica: fn(Millis) -> Replica) -> Region {
        let (log, (writes, wanted)) = (Log::default(), mpsc::unbounded_channel());
        let driver = Driver {
            started: Instant::now(),
            replica: replica(Millis(1)),
            links: links.clone(),
            log: Arc::clone(&log),
        };
        tokio::spawn(driver.run(inbox, wanted));
        Region { links, log, writes }
    }

    fn records(&self) -> Vec<StreamRecord> {
        self.log.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.log.lock().unwrap().len()
    }

    fn write(&self, count: usize) {
        for _ in 0..count {
            self.writes.send("data").unwrap();
        }
    }

    fn shape(&self, to: RegionId) -> Arc<ShapedLink> {
        self.links.link(to).unwrap()
    }
}

struct Driver {
    started: Instant,
    replica: Replica,
    links: Links,
    log: Log,
}

impl Driver {
    async fn run(mut self, mut inbox: Inbox, mut writes: mpsc::UnboundedReceiver<&'static str>) {
        let mut ticks = tokio::time::interval(TICK);
        self.settle();
        loop {
            tokio::select! {
                Some((from, frame)) = inbox.recv() => {
                    if let LinkFrame::Account(message) = frame {
                        self.replica.receive(self.now(), from, message);
                    }
                }
                Some(data) = writes.recv() => {
                    let record = self.replica.write(self.now(), data.into()).unwrap();
                    self.append(vec![record]);
                }
                _ = ticks.tick() => self.replica.tick(self.now()),
            }
            self.settle();
        }
    }

    fn now(&self) -> Millis {
        Millis(1 + u64::try_from(self.started.elapsed().as_millis()).unwrap())
    }

    fn append(&mut self, records: Vec<StreamRecord>) {
        let last = records.last().unwrap().sequence;
        self.log.lock().unwrap().extend(records);
        self.replica.mark_durable(self.now(), last);
        self.replica.applied(self.replica.apply_limit());
    }

    fn settle(&mut self) {
        loop {
            let effects = self.replica.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    ReplicaEffect::SaveHardState(_) | ReplicaEffect::AnswerRead { .. } => {}
                    ReplicaEffect::Append(records) => self.append(records),
                    ReplicaEffect::Send { to, message } => {
                        self.links.send(to, LinkFrame::Account(message));
                    }
                    ReplicaEffect::SendPage { to, head, .. } => {
                        let log = self.log.lock().unwrap();
                        let after = log.iter().filter(|record| record.sequence > head.after);
                        let records = after.cloned().collect();
                        let page = ReplicaMessage::Page(RecordPage { head, records });
                        self.links.send(to, LinkFrame::Account(page));
                    }
                    ReplicaEffect::FetchSnapshot { .. } | ReplicaEffect::RepairLog(_) => {
                        panic!("nothing is trimmed and nobody takes over")
                    }
                }
            }
        }
    }
}

fn founder(now: Millis) -> Replica {
    let members = Membership::new([(A, "West US"), (B, "North Europe")]);
    Replica::bootstrap(A, ReplicaSettings::new(Consistency::Session), now, members)
}

fn follower(now: Millis) -> Replica {
    let restart = Restart {
        hard_state: HardState::default(),
        begins: Sequence::ZERO,
        base: SnapshotMetadata::default(),
        log: &[],
        applied: Sequence::ZERO,
    };
    Replica::new(B, ReplicaSettings::new(Consistency::Session), now, restart)
}

/// Two regions of one process.
fn local() -> (Region, Region) {
    let ((a, a_inbox), (b, b_inbox)) = (Links::new(A), Links::new(B));
    Links::join(&a, &b);
    let a = Region::start(a, a_inbox, founder);
    (a, Region::start(b, b_inbox, follower))
}

async fn seconds(count: u64) {
    sleep(Duration::from_secs(count)).await;
}

#[tokio::test(start_paused = true)]
async fn steps_are_exact() {
    // With the longer delay several pulls and pages are in flight at once.
    for delay in [0, 30, 1000] {
        let (a, b) = local();
        let shape = a.shape(B);
        shape.delay(Duration::from_millis(delay));
        b.shape(A).delay(Duration::from_millis(delay));
        a.write(3);
        seconds(20).await;
        assert_eq!((a.count(), b.count()), (4, 4), "delayed by {delay} ms");
        shape.pause();
        a.write(20);
        seconds(20).await;
        assert_eq!((a.count(), b.count()), (24, 4), "delayed by {delay} ms");
        let mut expected = 4;
        for steps in [&[3][..], &[1, 1], &[2], &[1, 4, 1]] {
            for step in steps {
                shape.step(*step);
                expected += usize::try_from(*step).unwrap();
            }
            seconds(20).await;
            assert_eq!(b.count(), expected, "{steps:?} delayed by {delay} ms");
        }
        shape.resume();
        seconds(20).await;
        assert_eq!(b.records(), a.records());
    }
}

#[tokio::test(start_paused = true)]
async fn regions_hear_of_each_other_through_a_pause_and_not_through_a_cut() {
    let (a, b) = local();
    a.write(1);
    seconds(1).await;
    let (out, back) = (a.shape(B), b.shape(A));
    out.pause();
    a.write(1);
    let before = back.report().frames;
    seconds(5).await;
    assert!(back.report().frames > before + 40, "beats are answered");
    out.cut();
    let before = back.report().frames;
    seconds(5).await;
    // The follower repeats unanswered pulls and sends nothing else.
    assert!(back.report().frames < before + 20);
    a.write(5);
    out.resume();
    seconds(2).await;
    assert_eq!(b.records(), a.records());
    assert_eq!(b.count(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_the_lag() {
    let (a, b) = local();
    a.write(1);
    seconds(1).await;
    let delay = Duration::from_millis(200);
    a.shape(B).delay(delay);
    a.write(1);
    let written = Instant::now();
    while b.count() < 3 {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(written.elapsed() >= delay && written.elapsed() < 3 * delay);
}

#[tokio::test]
async fn regions_of_two_processes_replicate() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["West US".to_owned(), "North Europe".to_owned()];
    peer_certificates::write(directory.path(), &names).unwrap();
    let identity = |slug| PeerIdentity::load(&directory.path().join(slug)).unwrap();
    let ((a, a_inbox), (b, b_inbox)) = (Links::new(A), Links::joining());
    let remotes = [
        RemoteLinks::new(&a, "account", "West US", identity("west-us")).unwrap(),
        RemoteLinks::new(&b, "account", "North Europe", identity("north-europe")).unwrap(),
    ];
    let mut addresses = Vec::new();
    for remote in &remotes {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(listener.local_addr().unwrap().to_string());
        remote.listen(listener);
    }
    for remote in &remotes {
        for (name, address) in names.iter().zip(&addresses) {
            remote.connect(name, address).unwrap();
        }
    }
    a.name(B, "North Europe");
    let a = Region::start(a, a_inbox, founder);
    // The follower gets its numbers from the frames alone.
    let b = Region::start(b, b_inbox, follower);
    a.write(100);
    equal(&a, &b, 101).await;
    assert_eq!(b.links.me(), Some(B));
    a.shape(B).cut();
    a.write(100);
    sleep(Duration::from_millis(300)).await;
    assert_eq!(b.count(), 101);
    a.shape(B).resume();
    equal(&a, &b, 201).await;
}

async fn equal(a: &Region, b: &Region, count: usize) {
    let equal = async {
        while b.count() < count {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), equal).await.unwrap();
    assert_eq!(b.records(), a.records());
}
