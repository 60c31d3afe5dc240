//! A write region that was replaced without knowing it: what keeps it from committing is that the
//! regions which voted remember it.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

use std::collections::VecDeque;

use bytes::Bytes;
use orrery_regions::{
    Effect, Epoch, Force, Head, Level, Membership, Message, Millis, Page, RegionId, Replica,
    Restart, Saved, Sequence, Settings, StreamRecord,
};

/// A region whose disk takes everything at once.
struct Region {
    replica: Replica,
    log: Vec<StreamRecord>,
    saved: Saved,
}

struct Account {
    now: Millis,
    regions: Vec<Region>,
    cut: Vec<(usize, usize)>,
}

impl Account {
    fn new() -> Account {
        let settings = Settings::new(Level::Strong);
        let now = Millis(1_000_000);
        let names = [(RegionId(0), "a"), (RegionId(1), "b"), (RegionId(2), "c")];
        let restart = Restart {
            saved: Saved::default(),
            begins: Sequence::ZERO,
            base: Head::default(),
            log: &[],
            applied: Sequence::ZERO,
        };
        let follower = Replica::new(RegionId(1), settings, now, restart);
        let founder = Replica::found(RegionId(0), settings, now, Membership::new(names));
        let region = |replica| Region {
            replica,
            log: Vec::new(),
            saved: Saved::default(),
        };
        let mut account = Account {
            now,
            regions: vec![region(founder), region(follower)],
            cut: Vec::new(),
        };
        account.regions.push(region(Replica::new(
            RegionId(2),
            settings,
            now,
            Restart {
                saved: Saved::default(),
                begins: Sequence::ZERO,
                base: Head::default(),
                log: &[],
                applied: Sequence::ZERO,
            },
        )));
        account
    }

    fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cut.contains(&(from, to)) || self.cut.contains(&(to, from))
    }

    /// Lets time pass, and everything be said that can be said.
    fn pass(&mut self, millis: u64) {
        for _ in 0..millis / 50 {
            self.now = self.now.plus(50);
            for region in &mut self.regions {
                region.replica.tick(self.now);
            }
            self.talk();
        }
    }

    fn talk(&mut self) {
        let mut mail: VecDeque<(usize, usize, Message)> = VecDeque::new();
        loop {
            for from in 0..self.regions.len() {
                self.settle(from, &mut mail);
            }
            let Some((from, to, message)) = mail.pop_front() else {
                return;
            };
            if !self.is_cut(from, to) {
                let sender = self.regions[from].replica.region();
                self.regions[to].replica.receive(self.now, sender, message);
            }
        }
    }

    fn settle(&mut self, from: usize, mail: &mut VecDeque<(usize, usize, Message)>) {
        let region = &mut self.regions[from];
        for effect in region.replica.take_effects() {
            match effect {
                Effect::Save(saved) => region.saved = saved,
                Effect::Append(records) => {
                    region.log.extend(records);
                    let last = region.log.last().unwrap().sequence;
                    region.replica.kept(self.now, last);
                }
                Effect::Send { to, message } => mail.push_back((from, usize::from(to.0), message)),
                Effect::SendPage { to, head, .. } => {
                    let after = region
                        .log
                        .iter()
                        .filter(|record| record.sequence > head.after);
                    let records = after.cloned().collect();
                    let page = Message::Page(Page { head, records });
                    mail.push_back((from, usize::from(to.0), page));
                }
                Effect::FetchSnapshot { .. } | Effect::Rejoin(_) | Effect::Read { .. } => {}
            }
        }
        let limit = region.replica.apply_limit();
        region.replica.applied(limit);
    }

    fn write(&mut self, region: usize) -> Sequence {
        let region = &mut self.regions[region];
        let record = region
            .replica
            .write(self.now, Bytes::from_static(b"x"))
            .unwrap();
        let sequence = record.sequence;
        region.log.push(record);
        region.replica.kept(self.now, sequence);
        sequence
    }

    fn restart(&mut self, region: usize, promised: Epoch) {
        let Region { log, replica, .. } = &self.regions[region];
        let restart = Restart {
            saved: Saved {
                promised,
                incarnation: 2,
            },
            begins: Sequence::ZERO,
            base: Head::default(),
            log,
            applied: replica.head().sequence,
        };
        let settings = Settings::new(Level::Strong);
        let id = replica.region();
        self.regions[region].replica = Replica::new(id, settings, self.now, restart);
    }
}

/// Whether the replaced write region could acknowledge a write, when the voter restarted and
/// remembers its promise or does not.
fn acknowledges(remembers: bool) -> bool {
    let mut account = Account::new();
    account.pass(1_000);
    let before = account.regions[2].saved.promised;
    // The second region is cut off from the first, is promoted with the vote of the third, and is
    // then cut off from that as well.
    account.cut = vec![(0, 1)];
    let now = account.now;
    account.regions[1]
        .replica
        .force(now, &Force::default())
        .unwrap();
    let mut mail = VecDeque::new();
    account.settle(1, &mut mail);
    let (_, _, canvass) = mail.into_iter().find(|(_, to, _)| *to == 2).unwrap();
    account.regions[2]
        .replica
        .receive(now, RegionId(1), canvass);
    let mut mail = VecDeque::new();
    account.settle(2, &mut mail);
    let (_, _, vote) = mail.into_iter().find(|(_, to, _)| *to == 1).unwrap();
    account.regions[1].replica.receive(now, RegionId(2), vote);
    assert!(account.regions[1].replica.is_write_region());
    account.cut = vec![(0, 1), (1, 2)];
    let promised = account.regions[2].saved.promised;
    assert!(promised > before);
    account.restart(2, if remembers { promised } else { before });
    let written = account.write(0);
    // Long enough for strong writes not to wait for the second region any more.
    account.pass(2_600);
    account.regions[0].replica.settled(account.now) >= written
}

#[test]
fn a_vote_outlives_a_restart_or_two_regions_write() {
    assert!(!acknowledges(true));
    assert!(
        acknowledges(false),
        "the test shows nothing if forgetting does no harm"
    );
}
