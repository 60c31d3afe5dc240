//! All links of one region.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use orrery_regions::RegionId;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::remote::{Envelope, Queue, Slug};
use super::shaped_link::ShapedLink;
use super::sink::Sink;
use crate::LinkFrame;

/// Received frames with the region that sent each; the frames of one region are in order.
pub type Inbox = mpsc::UnboundedReceiver<(RegionId, LinkFrame)>;

#[derive(Clone)]
pub struct Links(Arc<RegionLinks>);

struct RegionLinks {
    me: Arc<OnceLock<RegionId>>,
    inbox: mpsc::UnboundedSender<(RegionId, LinkFrame)>,
    peers: RwLock<LinkTable>,
    dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct LinkTable {
    /// The link to each region.
    links: BTreeMap<RegionId, Arc<ShapedLink>>,
    /// Links to other processes, including those whose region has no number yet.
    remotes: BTreeMap<Slug, Arc<ShapedLink>>,
    numbers: BTreeMap<Slug, RegionId>,
    /// The names of the account's members, once the account stream has them.
    members: Option<BTreeSet<Slug>>,
}

impl Links {
    pub fn new(me: RegionId) -> (Links, Inbox) {
        Links::with(OnceLock::from(me))
    }

    /// The links of a region that joins an account of other processes. The first frame from a
    /// member has the region's number; [`Links::me`] returns the number afterwards.
    pub fn joining() -> (Links, Inbox) {
        Links::with(OnceLock::new())
    }

    fn with(me: OnceLock<RegionId>) -> (Links, Inbox) {
        let (inbox, frames) = mpsc::unbounded_channel();
        let links = Links(Arc::new(RegionLinks {
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

    /// Connects two regions of this process in both directions, in place of earlier links between
    /// them. Must be called inside a tokio runtime.
    pub fn join(a: &Links, b: &Links) {
        a.attach_local(b);
        b.attach_local(a);
    }

    /// Sends a frame without waiting. Frames to one region arrive in the order of the calls; a
    /// frame to a region without a link is dropped.
    pub fn send(&self, to: RegionId, frame: LinkFrame) {
        match self.read().links.get(&to) {
            Some(shape) => shape.send(frame),
            None => {
                self.0.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The directed link from this region to a peer.
    pub fn link(&self, to: RegionId) -> Option<Arc<ShapedLink>> {
        self.read().links.get(&to).map(Arc::clone)
    }

    /// Sets the number of a region that connects by its name. The call may precede the connection,
    /// and a region that returns with another number needs another call.
    pub fn name(&self, region: RegionId, name: &str) {
        if let Some(slug) = Slug::new(name) {
            self.write().assign_id(region, slug);
        }
    }

    /// Sets the names of the account's members.
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

    /// Gives the founder of an account its number. False if a member has sent another number
    /// meanwhile.
    pub fn bootstrap(&self, me: RegionId) -> bool {
        *self.0.me.get_or_init(|| me) == me
    }

    /// The current or last number of a region in another process.
    pub fn number(&self, name: &str) -> Option<RegionId> {
        let slug = Slug::new(name)?;
        self.read().numbers.get(&slug).copied()
    }

    /// Removes the link to a region until another call of `join` or `name`. Frames from that region
    /// still arrive.
    pub fn unlink(&self, from: RegionId) {
        self.write().links.remove(&from);
    }

    /// The count of frames dropped on the way out, on all links.
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

    /// The send queue to a region of another process. A new connection to another address uses the
    /// same link.
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
            peers.assign_id(region, slug.clone());
        }
        queue
    }

    pub(super) fn detach_remote(&self, slug: &Slug) {
        let mut peers = self.write();
        if let Some(shape) = peers.remotes.remove(slug) {
            peers.links.retain(|_, other| !Arc::ptr_eq(other, &shape));
        }
    }

    /// Receives a frame from a region that has proved its name. False if this region knows the
    /// sender under another number, or if the sender has another number for this region.
    pub(super) fn arrived(&self, slug: &Slug, envelope: Envelope) -> bool {
        let Envelope { from, to, frame } = envelope;
        let known = self.read().numbers.get(slug).copied();
        // The number table is updated before the frame is queued: the receiver of the frame may
        // answer through the link at once.
        let is_known = match known {
            Some(known) => known == from,
            None => self.me() != Some(from) && self.write().learn(from, slug),
        };
        let is_meant = is_known && *self.0.me.get_or_init(|| to) == to;
        is_meant && self.0.inbox.send((from, frame)).is_ok()
    }

    /// Whether the region's inbox is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.0.inbox.is_closed()
    }

    fn shaped(&self, sink: Sink) -> Arc<ShapedLink> {
        let dropped = Arc::clone(&self.0.dropped);
        Arc::new(ShapedLink::new(sink, dropped, Handle::current()))
    }

    fn read(&self) -> RwLockReadGuard<'_, LinkTable> {
        self.0.peers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, LinkTable> {
        self.0.peers.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinkTable {
    fn assign_id(&mut self, region: RegionId, slug: Slug) {
        if let Some(shape) = self.remotes.get(&slug) {
            self.links.retain(|_, other| !Arc::ptr_eq(other, shape));
            shape.set_region(region);
            self.links.insert(region, Arc::clone(shape));
        }
        self.numbers.retain(|_, known| *known != region);
        self.numbers.insert(slug, region);
    }

    /// Accepts a region's own number, unless another region has that number.
    fn learn(&mut self, region: RegionId, slug: &Slug) -> bool {
        if let Some(known) = self.numbers.get(slug) {
            return *known == region;
        }
        if self.numbers.values().any(|known| *known == region) {
            return false;
        }
        self.assign_id(region, slug.clone());
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
        shape: Arc<ShapedLink>,
        inbox: Inbox,
    }

    fn pair() -> Pair {
        let ((a, _), (b, inbox)) = (Links::new(A), Links::new(B));
        Links::join(&a, &b);
        let shape = a.link(B).unwrap();
        Pair { a, b, shape, inbox }
    }

    impl Pair {
        /// The frames that have arrived, as the rounds of heartbeats or the sequences of records.
        fn arrived(&mut self) -> Vec<u64> {
            let mut arrived = Vec::new();
            while let Ok((from, frame)) = self.inbox.try_recv() {
                assert_eq!(from, A);
                match &frame {
                    LinkFrame::Account(orrery_regions::ReplicaMessage::Heartbeat(beat)) => {
                        arrived.push(beat.round);
                    }
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
        pair.a.unlink(B);
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
