//! Accounts whose regions are connected as those of different processes are.

use std::path::Path;
use std::time::Duration;

use orrery_account::{ControlError, Order, PeerIdentity, Peers, RegionState, peer_certificates};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::support::{PATIENCE, World, end, eventually};

/// Certificates, data and addresses of regions.
struct Machines {
    directory: TempDir,
    addresses: Vec<(&'static str, String)>,
}

impl Machines {
    async fn new(regions: &[&'static str]) -> Machines {
        let directory = tempfile::tempdir().unwrap();
        let names: Vec<String> = regions.iter().map(|&name| name.to_owned()).collect();
        peer_certificates::write(&directory.path().join("certificates"), &names).unwrap();
        let mut addresses = Vec::new();
        for &region in regions {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            addresses.push((region, listener.local_addr().unwrap().to_string()));
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
    async fn peers(&self, name: &str, others: &[&str], joins: bool) -> Peers {
        let of = |wanted: &str| {
            let mut addresses = self.addresses.iter();
            let (_, address) = addresses.find(|(name, _)| *name == wanted).unwrap();
            address.clone()
        };
        let identity = self.path().join("certificates").join(name);
        Peers {
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
        World::among(self.path(), name, peers).await
    }
}

/// An address that another test took for a moment is waited for.
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
    let mut joining = Box::pin(World::among(machines.path(), "b", peers));
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

    // It has its number from its directory now, and what it missed from the other.
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
        assert_eq!((other.state, other.kept), (RegionState::Read, None));
        other.endpoint.is_some() && own.applied.is_some() && other.applied == own.applied
    })
    .await;
    let order = Order::TakeDown {
        region: "b".to_owned(),
    };
    let refused = a.account.carry_out(order).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "region 'b' is not in this process; ask the process that has it, which serves clients at http://b/"
    );
    let remove = Order::Remove {
        region: "a".to_owned(),
    };
    let refused = b.account.carry_out(remove).await;
    assert!(
        matches!(&refused, Err(ControlError::Elsewhere(region, _)) if region == "a"),
        "{refused:?}"
    );

    // A third process, of which the others are told at a restart.
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
