//! Catalogue changes in a hub that no majority confirms.

use orrery_model::Failure;

use crate::bounds::{WAITS, at_once, begin, unavailable};
use crate::support::{World, end, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_hears_of_nobody_says_so_and_goes_on_when_it_does() {
    let world = World::multi(None, &["a", "b"]);
    world.create_container("a").await;
    let hub = world.region("a");
    assert_eq!(hub.admit_catalogue_write().await, Ok(()));
    let elsewhere = world.region("b").admit_catalogue_write().await;
    assert_eq!(elsewhere, Err(Failure::WriteForbidden));
    world.isolate("b").await;
    eventually("nobody is heard of", || {
        hub.check_catalogue_write().is_err()
    })
    .await;
    assert_eq!(hub.admit_write().await, Ok(()), "items are written");
    let waiting = begin(WAITS, || hub.admit_catalogue_write());
    let refused = at_once(hub.admit_catalogue_write());
    assert!(unavailable(&refused).contains("has not heard of enough"));
    world.connect("b").await;
    eventually("b is heard of", || hub.check_catalogue_write().is_ok()).await;
    for change in waiting {
        assert_eq!(change.await, Ok(()));
    }
    world.isolate("b").await;
    eventually("nobody is heard of", || {
        hub.check_catalogue_write().is_err()
    })
    .await;
    let refused = hub.admit_catalogue_write().await;
    assert!(unavailable(&refused).contains("has not heard of enough"));
    drop(hub);
    end(world.account).await;
}
