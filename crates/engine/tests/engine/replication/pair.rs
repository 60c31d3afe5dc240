//! A leader, a follower, and the transport of records between them.

use std::path::Path;
use std::time::Duration;

use orrery_engine::{ReplicationError, Subscription, SubscriptionRead};

use crate::random::Random;
use crate::replication::answers::answers;
use crate::replication::random_workload::RandomWorkload;
use crate::replication::{DataDirectories, World};

const KEPT_BYTES: u64 = 1 << 20;
const PATIENCE: usize = 2_000;

pub(crate) struct Pair {
    pub(crate) leader: World,
    pub(crate) follower: World,
    subscription: Subscription,
}

impl Pair {
    pub(crate) fn new(leader: World, place: Option<&Path>) -> Pair {
        let after = leader.engine.applied();
        let subscription = leader.engine.subscribe(after, KEPT_BYTES);
        let follower = leader.copy(place, 200);
        Pair {
            leader,
            follower,
            subscription,
        }
    }

    /// Moves some records to the follower, sometimes too few or too many; returns whether records
    /// were available.
    pub(crate) async fn pull(&mut self, random: &mut Random) -> bool {
        let after = self.follower.engine.applied();
        let bytes_max = *random.pick(&[1, 500, 5_000, 500_000]);
        let piece = self.subscription.records_after(after, bytes_max);
        let SubscriptionRead::Records(mut records) = piece.unwrap() else {
            panic!("the leader keeps what is not acknowledged");
        };
        if records.is_empty() {
            return false;
        }
        let engine = &self.follower.engine;
        if random.chance(10) && records.len() > 1 {
            let late = engine.append_and_apply(records[1..].to_vec()).await;
            assert!(matches!(late, Err(ReplicationError::Gap { .. })));
        }
        if random.chance(20) {
            let some = usize::try_from(random.below(records.len() as u64)).unwrap();
            engine
                .append_and_apply(records[..some].to_vec())
                .await
                .unwrap();
        }
        if random.chance(10) {
            records.extend(records.clone());
        }
        let last = engine.append_and_apply(records).await.unwrap();
        assert_eq!(last, engine.applied());
        self.subscription.acknowledge(last);
        true
    }

    /// Restarts one side if it is on disk, with or without a clean shutdown.
    pub(crate) async fn restart(self, places: DataDirectories<'_>, random: &mut Random) -> Pair {
        let Pair {
            mut leader,
            mut follower,
            subscription,
        } = self;
        drop(subscription);
        let is_orderly = random.chance(50);
        if random.chance(50) && leader.directory.is_some() {
            leader = again(leader, is_orderly).await;
        } else if follower.directory.is_some() {
            follower = again(follower, is_orderly).await;
        }
        let after = follower.engine.applied();
        let subscription = leader.engine.subscribe(after, KEPT_BYTES);
        // A leader without a log has dropped records that no follower subscribed to. Such a
        // follower needs a new snapshot.
        let is_lost = leader.directory.is_none() && after != leader.engine.applied();
        if is_lost {
            let place = places.into_iter().flatten().next();
            follower = copy_again(&leader, follower, place).await;
        }
        Pair {
            leader,
            follower,
            subscription,
        }
    }

    /// Makes the follower the leader and the leader its follower.
    pub(crate) async fn swap(self) -> Pair {
        let Pair {
            leader,
            follower,
            mut subscription,
        } = self;
        leader.engine.demote().await.unwrap();
        let last = leader.engine.applied();
        let after = follower.engine.applied();
        let piece = subscription.records_after(after, usize::MAX).unwrap();
        let SubscriptionRead::Records(records) = piece else {
            panic!("the leader keeps what is not acknowledged");
        };
        follower.engine.append_and_apply(records).await.unwrap();
        assert_eq!(follower.engine.applied(), last);
        follower.engine.promote().await.unwrap();
        let subscription = follower.engine.subscribe(last, KEPT_BYTES);
        Pair {
            leader: follower,
            follower: leader,
            subscription,
        }
    }

    /// Replicates all records until the leader's background work has ended too.
    pub(crate) async fn settle(&mut self, random: &mut Random) {
        self.leader.engine.remove_expired().await.unwrap();
        while self.pull(random).await {}
    }

    /// Both give the same answers.
    pub(crate) async fn compare(&mut self, turmoil: &RandomWorkload) {
        let mut random = Random::new(1);
        for attempt in 0..PATIENCE {
            while self.pull(&mut random).await {}
            let before = self.leader.engine.applied();
            let wanted = answers(&self.leader, turmoil).await;
            let found = answers(&self.follower, turmoil).await;
            // The leader's background counts and removals may still be running.
            if before != self.leader.engine.applied() {
                continue;
            }
            if wanted == found {
                return;
            }
            assert!(attempt + 1 < PATIENCE, "{wanted:#?}\n{found:#?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) async fn close(self) {
        drop(self.subscription);
        self.leader.close().await;
        self.follower.close().await;
    }
}

async fn again(world: World, is_orderly: bool) -> World {
    if is_orderly {
        world.reopen().await
    } else {
        world.abandon().await
    }
}

/// Recreates a follower from a snapshot of its leader.
async fn copy_again(leader: &World, follower: World, place: Option<&Path>) -> World {
    follower.close().await;
    if let Some(place) = place {
        std::fs::remove_dir_all(place).unwrap();
    }
    leader.copy(place, 1_000)
}
