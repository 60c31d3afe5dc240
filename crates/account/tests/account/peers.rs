//! Accounts whose regions are connected as those of different processes are.

use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use orrery_account::{
    ControlError, OperatorOrder, PartitionAddress, PeerIdentity, PeerOptions, RegionState,
    peer_certificates,
};
use orrery_model::{Failure, Secret};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::faults::{end_broken, state};
use crate::promises::spoil_late_syncs;
use crate::support::{PATIENCE, World, Writes, end, eventually, find};

/// Of records for regions that are away, where every region writes.
const KEPT_BYTES: u64 = 20_000;

/// Certificates, data and addresses of regions.
pub(crate) struct Machines {
    directory: TempDir,
    addresses: Vec<(&'static str, String)>,
}

impl Machines {
    pub(crate) async fn new(regions: &[&'static str]) -> Machines {
        let directory = tempfile::tempdir().unwrap();
        let names: Vec<String> = regions.iter().map(|&name| name.to_owned()).collect();
        peer_certificates::write(&directory.path().join("certificates"), &names).unwrap();
        let mut addresses = Vec::new();
        for &region in regions {
            addresses.push((region, free_address().await));
        }
        Machines {
            directory,
            addresses,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What the process of a region is started with.
    async fn peers(&self, name: &str, others: &[&str], joins: bool) -> PeerOptions {
        let of = |wanted: &str| {
            let mut addresses = self.addresses.iter();
            let (_, address) = addresses.find(|(name, _)| *name == wanted).unwrap();
            address.clone()
        };
        let identity = self.path().join("certificates").join(name);
        PeerOptions {
            account: "account".to_owned(),
            listen: bind(&of(name)).await,
            identity: PeerIdentity::load(&identity).unwrap(),
            regions: others
                .iter()
                .map(|&name| (name.to_owned(), of(name)))
                .collect(),
            joins,
        }
    }

    async fn start(&self, name: &'static str, others: &[&str], joins: bool) -> World {
        let peers = self.peers(name, others, joins).await;
        World::among(self.path(), name, peers, Writes::One, None).await
    }

    /// A process of a multi-write account that retains few records for others.
    pub(crate) async fn start_multi(
        &self,
        name: &'static str,
        others: &[&str],
        joins: bool,
    ) -> World {
        let peers = self.peers(name, others, joins).await;
        World::among(self.path(), name, peers, Writes::Every, Some(KEPT_BYTES)).await
    }
}

/// An address for one test alone. The port is below the ephemeral ports of the system, so that no
/// other process takes it while this one restarts.
async fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 10_000).unwrap();
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let address = format!("127.0.0.1:{}", 15_000 + (start + next) % 15_000);
        if TcpListener::bind(&address).await.is_ok() {
            return address;
        }
    }
}

/// Waits until an earlier process has released the address.
async fn bind(address: &str) -> TcpListener {
    let bound = async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(PATIENCE, bound).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_joins_is_replaced_and_comes_back() {
    let machines = Machines::new(&["a", "b"]).await;
    let peers = machines.peers("b", &["a"], true).await;
    let mut joining = Box::pin(World::among(machines.path(), "b", peers, Writes::One, None));
    let alone = timeout(Duration::from_millis(200), &mut joining).await;
    assert!(alone.is_err(), "nobody has told it its number");
    let a = machines.start("a", &["b"], false).await;
    let b = timeout(PATIENCE, joining).await.unwrap();
    a.region("a").set_endpoint("http://a/");
    b.region("b").set_endpoint("http://b/");
    a.create_container("a").await;
    a.write_patiently("a", "x", 1).await;
    b.sees("b", "x", 1).await;
    for (world, name) in [(&a, "a"), (&b, "b")] {
        eventually("all regions are listed", || {
            let locations = world.region(name).locations().unwrap();
            let listed = locations.readable.iter().map(|place| &place.endpoint[..]);
            listed.eq(["http://a/", "http://b/"])
        })
        .await;
    }

    // The region has its number from its directory, and pulls its missing records from the other
    // region.
    end(b.account).await;
    a.write_patiently("a", "x", 2).await;
    let b = machines.start("b", &["a"], true).await;
    b.sees("b", "x", 2).await;
    a.fail_over("b").await;
    b.write_patiently("b", "x", 3).await;
    a.sees("a", "x", 3).await;
    end(a.account).await;
    end(b.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_knows_of_the_regions_of_others_and_orders_only_its_own() {
    let machines = Machines::new(&["a", "b", "c"]).await;
    let a = machines.start("a", &["b"], false).await;
    let b = machines.start("b", &["a"], true).await;
    b.region("b").set_endpoint("http://b/");
    a.create_container("a").await;
    a.write_patiently("a", "x", 1).await;
    b.sees("b", "x", 1).await;
    eventually("the write region has heard of the other", || {
        let report = a.account.report();
        let other = report.regions.iter().find(|region| region.name == "b");
        let own = report.regions.iter().find(|region| region.name == "a");
        let (own, other) = (own.unwrap(), other.unwrap());
        assert_eq!((other.state, other.appended), (RegionState::Read, None));
        other.endpoint.is_some() && own.applied.is_some() && other.applied == own.applied
    })
    .await;
    let order = OperatorOrder::TakeDown {
        region: "b".to_owned(),
    };
    let refused = a.account.carry_out(order).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "region 'b' is not in this process; ask the process that has it, which serves clients at http://b/"
    );
    let remove = OperatorOrder::Remove {
        region: "a".to_owned(),
        forced: false,
    };
    let refused = b.account.carry_out(remove).await;
    assert!(
        matches!(&refused, Err(ControlError::Elsewhere(region, _)) if region == "a"),
        "{refused:?}"
    );

    // The other regions learn of a third process at a restart.
    end(a.account).await;
    end(b.account).await;
    let a = machines.start("a", &["b", "c"], false).await;
    let b = machines.start("b", &["a", "c"], true).await;
    a.write_patiently("a", "x", 2).await;
    let joining = machines.start("c", &["a", "b"], true);
    let (added, c) = tokio::join!(a.account.add_peer("c"), joining);
    added.unwrap();
    c.sees("c", "x", 2).await;
    a.write_patiently("a", "x", 3).await;
    c.sees("c", "x", 3).await;
    for world in [a, b, c] {
        end(world.account).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_moves_between_processes() {
    let machines = Machines::new(&["a", "b"]).await;
    let start = async |name, other, joins| {
        let peers = machines.peers(name, &[other], joins).await;
        World::try_among(
            machines.path(),
            name,
            peers,
            Writes::PerPartitionManaged,
            None,
        )
        .await
        .unwrap()
    };
    let (a, b) = tokio::join!(start("a", "b", false), start("b", "a", true));
    a.create_container("a").await;
    a.write_patiently("a", "x", 1).await;
    b.sees("b", "x", 1).await;
    let partition = || PartitionAddress {
        database: "d".to_owned(),
        container: "c".to_owned(),
        range: a.range_of("a", "x"),
    };
    let give = |to: &str| OperatorOrder::MovePartition {
        to: to.to_owned(),
        partition: partition(),
        forced: false,
    };
    a.order(give("b")).await;
    b.write("b", "x", 2).await.unwrap();
    assert_eq!(a.write("a", "x", 3).await, Err(Failure::WriteForbidden));
    a.sees("a", "x", 2).await;
    let elsewhere = b.account.carry_out(give("a")).await;
    assert!(
        matches!(elsewhere, Err(ControlError::Elsewhere(..))),
        "{elsewhere:?}"
    );

    // A region in which a partition is down reports that, and the write region takes the partition.
    let (region, partition) = ("b".to_owned(), partition());
    b.order(OperatorOrder::TakeDownPartition { region, partition })
        .await;
    let begun = std::time::Instant::now();
    while a.write("a", "x", 4).await.is_err() {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(a.account.report().partitions[0].down, ["b"]);
    end(a.account).await;
    end(b.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_founder_that_lost_its_directory_founds_no_other_account() {
    let machines = Machines::new(&["a", "b"]).await;
    let (a, b) = tokio::join!(
        machines.start("a", &["b"], false),
        machines.start("b", &["a"], true)
    );
    a.create_container("a").await;
    a.write_patiently("a", "x", 1).await;
    b.sees("b", "x", 1).await;
    end(a.account).await;
    std::fs::remove_dir_all(machines.path().join("a")).unwrap();
    let peers = machines.peers("a", &["b"], false).await;
    let refused = World::try_among(machines.path(), "a", peers, Writes::One, None).await;
    let Err(refused) = refused else {
        panic!("another account under the same names");
    };
    assert!(
        refused.to_string().contains("has the account already"),
        "{refused}"
    );
    assert!(!machines.path().join("a").exists());
    assert_eq!(b.peek("b", "x"), Some(1));
    end(b.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_regions_use_the_token_secret_of_the_write_region() {
    let machines = Machines::new(&["a", "b"]).await;
    let (a, b) = tokio::join!(
        machines.start("a", &["b"], false),
        machines.start("b", &["a"], true)
    );
    let secret = |byte| Secret::new(vec![byte; 32]);
    let of = |world: &World| world.account.token_secret().borrow().clone();
    b.account.set_token_secret(secret(2));
    a.account.set_token_secret(secret(1));
    eventually("it takes over", || of(&b) == Some(secret(1))).await;
    // Nobody else is believed.
    a.fail_over("b").await;
    a.account.set_token_secret(secret(3));
    eventually("the new write region tells its own", || {
        of(&a) == Some(secret(1))
    })
    .await;
    assert_eq!(of(&b), Some(secret(1)));
    end(a.account).await;
    end(b.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_others_hear_that_a_region_broke_down() {
    let machines = Machines::new(&["a", "b"]).await;
    let a = machines.start("a", &["b"], false).await;
    let b = machines.start("b", &["a"], true).await;
    b.region("b").set_endpoint("http://b/");
    a.create_container("a").await;
    a.write_patiently("a", "x", 1).await;
    b.sees("b", "x", 1).await;
    spoil_late_syncs(&machines.path().join("b"));
    a.write("a", "x", 2).await.unwrap();
    eventually("a hears of it", || state(&a, "b").0 == RegionState::Broken).await;
    assert_eq!(state(&a, "b").1, state(&b, "b").1);
    end_broken(b).await;
    assert_eq!(state(&a, "b").0, RegionState::Broken, "as it said last");

    // The region pulls the records again that its log has lost.
    let log = find(&machines.path().join("b"), "log").unwrap();
    std::fs::remove_dir_all(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let peers = machines.peers("b", &["a"], true).await;
    let b = World::among_after_loss(machines.path(), "b", peers).await;
    b.region("b").set_endpoint("http://b/");
    b.sees("b", "x", 2).await;
    eventually("a hears that it is well", || {
        state(&a, "b") == (RegionState::Read, None)
    })
    .await;
    end(a.account).await;
    end(b.account).await;
}
