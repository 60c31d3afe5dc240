//! All links of one region.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use orrery_regions::RegionId;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::remote::{Envelope, Queue, Slug};
use super::shape::Shape;
use super::sink::Sink;
use crate::Frame;

/// Frames with the region that sent them, those of one region in their order.
pub type Inbox = mpsc::UnboundedReceiver<(RegionId, Frame)>;

#[derive(Clone)]
pub struct Links(Arc<Shared>);

struct Shared {
    me: Arc<OnceLock<RegionId>>,
    inbox: mpsc::UnboundedSender<(RegionId, Frame)>,
    peers: RwLock<Peers>,
    dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct Peers {
    /// Where frames go.
    links: BTreeMap<RegionId, Arc<Shape>>,
    /// Links to other processes, those included whose region has no number yet.
    remotes: BTreeMap<Slug, Arc<Shape>>,
    numbers: BTreeMap<Slug, RegionId>,
    /// Who is in the account, if that is known.
    members: Option<BTreeSet<Slug>>,
}

impl Links {
    pub fn new(me: RegionId) -> (Links, Inbox) {
        Links::with(OnceLock::from(me))
    }

    /// Links of a region that is about to join an account of other processes. Which number it has
    /// is in the first frame that a member sends it: [`Links::me`] knows it when that is received.
    pub fn joining() -> (Links, Inbox) {
        Links::with(OnceLock::new())
    }

    fn with(me: OnceLock<RegionId>) -> (Links, Inbox) {
        let (inbox, frames) = mpsc::unbounded_channel();
        let links = Links(Arc::new(Shared {
            me: Arc::new(me),
            inbox,
            peers: RwLock::default(),
            dropped: Arc::default(),
        }));
        (links, frames)
    }

    pub fn me(&self) -> Option<RegionId> {
        self.0.me.get().copied()
    }

    /// Connects two regions of this process, in both directions; what was between them before is
    /// replaced. Must be called inside a tokio runtime.
    pub fn join(a: &Links, b: &Links) {
        a.attach_local(b);
        b.attach_local(a);
    }

    /// Never waits. What is sent to one region arrives in the order of the calls; to a region that
    /// is not connected nothing is sent.
    pub fn send(&self, to: RegionId, frame: Frame) {
        match self.read().links.get(&to) {
            Some(shape) => shape.send(frame),
            None => {
                self.0.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The direction from here to another region.
    pub fn shape(&self, to: RegionId) -> Option<Arc<Shape>> {
        self.read().links.get(&to).map(Arc::clone)
    }

    /// Says which number a region has that is reached by its name. It may be said before or after
    /// it is connected, and again when a region comes back with another number.
    pub fn name(&self, region: RegionId, name: &str) {
        if let Some(slug) = Slug::new(name) {
            self.write().place(region, slug);
        }
    }

    /// Says which regions are in the account.
    pub fn set_members<'n>(&self, names: impl Iterator<Item = &'n str>) {
        self.write().members = Some(names.filter_map(Slug::new).collect());
    }

    pub(super) fn may_be_member(&self, slug: &Slug) -> bool {
        let peers = self.read();
        peers
            .members
            .as_ref()
            .is_none_or(|members| members.contains(slug))
    }

    /// Gives a region that founds an account its number. False if a member has told it another meanwhile.
    pub fn found(&self, me: RegionId) -> bool {
        *self.0.me.get_or_init(|| me) == me
    }

    /// The number that a region of another process has, or had.
    pub fn number(&self, name: &str) -> Option<RegionId> {
        let slug = Slug::new(name)?;
        self.read().numbers.get(&slug).copied()
    }

    /// Sends nothing to a region any more, until it is joined or named again. What it sends still
    /// arrives.
    pub fn part(&self, from: RegionId) {
        self.write().links.remove(&from);
    }

    /// Frames that were lost on their way out, on all links.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    fn attach_local(&self, other: &Links) {
        let to = other
            .me()
            .expect("a region of this process is placed before it is joined");
        let shape = self.shaped(Sink::Local {
            from: Arc::clone(&self.0.me),
            inbox: other.0.inbox.clone(),
        });
        self.write().links.insert(to, shape);
    }

    /// What is to be sent to a region of another process. Its link stays the same when it is
    /// connected again elsewhere.
    pub(super) fn attach_remote(&self, slug: &Slug) -> Arc<Queue> {
        let mut peers = self.write();
        if let Some(shape) = peers.remotes.get(slug)
            && let Some(queue) = shape.queue()
        {
            return queue;
        }
        let queue = Arc::<Queue>::default();
        let shape = self.shaped(Sink::Remote {
            from: Arc::clone(&self.0.me),
            to: None,
            queue: Arc::clone(&queue),
        });
        peers.remotes.insert(slug.clone(), shape);
        if let Some(region) = peers.numbers.get(slug).copied() {
            peers.place(region, slug.clone());
        }
        queue
    }

    pub(super) fn detach_remote(&self, slug: &Slug) {
        let mut peers = self.write();
        if let Some(shape) = peers.remotes.remove(slug) {
            peers.links.retain(|_, other| !Arc::ptr_eq(other, &shape));
        }
    }

    /// A frame came from a region that has proved its name. False if that has another number here,
    /// or takes this region for another one.
    pub(super) fn arrived(&self, slug: &Slug, envelope: Envelope) -> bool {
        let Envelope { from, to, frame } = envelope;
        let known = self.read().numbers.get(slug).copied();
        let is_known = match known {
            Some(known) => known == from,
            None => self.me() != Some(from) && self.write().learn(from, slug),
        };
        let is_meant = is_known && *self.0.me.get_or_init(|| to) == to;
        is_meant && self.0.inbox.send((from, frame)).is_ok()
    }

    /// Whether nobody takes frames any more.
    pub(super) fn is_closed(&self) -> bool {
        self.0.inbox.is_closed()
    }

    fn shaped(&self, sink: Sink) -> Arc<Shape> {
        let dropped = Arc::clone(&self.0.dropped);
        Arc::new(Shape::new(sink, dropped, Handle::current()))
    }

    fn read(&self) -> RwLockReadGuard<'_, Peers> {
        self.0.peers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Peers> {
        self.0.peers.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peers {
    fn place(&mut self, region: RegionId, slug: Slug) {
        if let Some(shape) = self.remotes.get(&slug) {
            self.links.retain(|_, other| !Arc::ptr_eq(other, shape));
            shape.place(region);
            self.links.insert(region, Arc::clone(shape));
        }
        self.numbers.retain(|_, known| *known != region);
        self.numbers.insert(slug, region);
    }

    /// Believes a region its number, unless it is another's.
    fn learn(&mut self, region: RegionId, slug: &Slug) -> bool {
        if let Some(known) = self.numbers.get(slug) {
            return *known == region;
        }
        if self.numbers.values().any(|known| *known == region) {
            return false;
        }
        self.place(region, slug.clone());
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance, sleep};

    use super::*;
    use crate::link::testing::{beat, page, sequences};

    const A: RegionId = RegionId(0);
    const B: RegionId = RegionId(1);

    struct Pair {
        a: Links,
        #[expect(dead_code, reason = "an inbox without its links would end")]
        b: Links,
        shape: Arc<Shape>,
        inbox: Inbox,
    }

    fn pair() -> Pair {
        let ((a, _), (b, inbox)) = (Links::new(A), Links::new(B));
        Links::join(&a, &b);
        let shape = a.shape(B).unwrap();
        Pair { a, b, shape, inbox }
    }

    impl Pair {
        /// What has arrived, by the numbers of its beats, or by its records.
        fn arrived(&mut self) -> Vec<u64> {
            let mut arrived = Vec::new();
            while let Ok((from, frame)) = self.inbox.try_recv() {
                assert_eq!(from, A);
                match &frame {
                    Frame::Account(orrery_regions::Message::Beat(beat)) => arrived.push(beat.round),
                    _ => arrived.extend(sequences(&frame)),
                }
            }
            arrived
        }
    }

    #[tokio::test(start_paused = true)]
    async fn frames_arrive_at_once_and_in_order() {
        let mut pair = pair();
        for round in 0..100 {
            pair.a.send(B, beat(round));
        }
        assert_eq!(pair.arrived(), (0..100).collect::<Vec<_>>());
        pair.a.send(RegionId(7), beat(1));
        assert_eq!(pair.a.dropped(), 1);
        let report = pair.shape.report();
        assert_eq!((report.frames, report.bytes, report.lost), (100, 3200, 0));
        pair.a.part(B);
        pair.a.send(B, beat(1));
        assert_eq!((pair.a.dropped(), pair.arrived()), (2, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_holds_for_each_frame() {
        let mut pair = pair();
        pair.shape.delay(Duration::from_millis(80));
        let started = Instant::now();
        for round in 0..3 {
            pair.a.send(B, beat(round));
            advance(Duration::from_millis(20)).await;
        }
        for (round, millis) in [(0, 80), (1, 100), (2, 120)] {
            let (_, frame) = pair.inbox.recv().await.unwrap();
            assert_eq!(frame, beat(round));
            let (due, now) = (Duration::from_millis(millis), started.elapsed());
            let is_punctual = now >= due && now < due + Duration::from_millis(2);
            assert!(
                is_punctual,
                "{round} is due after {due:?}, not after {now:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_of_delay_keeps_the_order() {
        let mut pair = pair();
        pair.shape.delay(Duration::from_secs(50));
        pair.a.send(B, beat(1));
        sleep(Duration::from_secs(1)).await;
        pair.shape.delay(Duration::from_secs(10));
        pair.a.send(B, beat(2));
        sleep(Duration::from_millis(9_500)).await;
        assert_eq!(pair.arrived(), [1]);
        pair.shape.delay(Duration::ZERO);
        pair.a.send(B, beat(3));
        sleep(Duration::from_millis(2)).await;
        assert_eq!(pair.arrived(), [2, 3]);
        pair.a.send(B, beat(4));
        assert_eq!(pair.arrived(), [4]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_records_and_lets_beats_pass() {
        let mut pair = pair();
        pair.shape.delay(Duration::from_millis(50));
        pair.a.send(B, page(0, 1..=3));
        pair.shape.pause();
        pair.a.send(B, beat(90));
        sleep(Duration::from_millis(60)).await;
        assert_eq!(pair.arrived(), [90]);
        pair.shape.step(2);
        assert_eq!(pair.arrived(), [1, 2]);
        pair.a.send(B, page(2, 3..=9));
        sleep(Duration::from_millis(60)).await;
        assert!(pair.arrived().is_empty() && pair.shape.report().is_paused);
        pair.shape.resume();
        assert_eq!(pair.arrived(), (3..=9).collect::<Vec<_>>());
        assert!(!pair.shape.report().is_paused);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cut_loses_what_is_under_way() {
        let mut pair = pair();
        pair.shape.delay(Duration::from_millis(50));
        pair.a.send(B, beat(1));
        pair.shape.cut();
        pair.a.send(B, beat(2));
        sleep(Duration::from_millis(60)).await;
        pair.shape.resume();
        pair.a.send(B, beat(3));
        sleep(Duration::from_millis(60)).await;
        assert_eq!(pair.arrived(), [3]);
        let report = pair.shape.report();
        assert_eq!((report.frames, report.lost, report.is_cut), (2, 2, false));
        assert_eq!(pair.a.dropped(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_region_that_is_gone_takes_nothing() {
        let ((a, _inbox), (b, inbox)) = (Links::new(A), Links::new(B));
        Links::join(&a, &b);
        drop(inbox);
        a.send(B, beat(1));
        assert_eq!(a.dropped(), 1);
    }
}
