//! Every region writes, in processes of their own.

use orrery_account::{Availability, LinkOrder, OperatorOrder};

use crate::peers::Machines;
use crate::support::{end, eventually, outrun};

fn remove(region: &str, forced: bool) -> OperatorOrder {
    OperatorOrder::Remove {
        region: region.to_owned(),
        forced,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_joins_leaves_and_joins_again_while_others_write() {
    let machines = Machines::new(&["a", "b", "c"]).await;
    let a = machines.start_multi("a", &["b", "c"], false);
    let b = machines.start_multi("b", &["a", "c"], true);
    let c = machines.start_multi("c", &["a", "b"], true);
    let (a, b, c) = tokio::join!(a, b, c);
    a.create_container("a").await;
    for (world, name) in [(&a, "a"), (&b, "b"), (&c, "c")] {
        world.writes(name).await;
        world.write_patiently(name, name, 1).await;
    }
    for (world, name) in [(&a, "a"), (&b, "b"), (&c, "c")] {
        for item in ["a", "b", "c"] {
            world.sees(name, item, 1).await;
        }
    }
    a.order(remove("c", false)).await;
    eventually("it knows", || {
        c.region("c").availability() == Availability::Removed
    })
    .await;
    b.write_patiently("b", "b", 2).await;
    a.sees("a", "b", 2).await;
    a.account.add_peer("c").await.unwrap();
    c.sees("c", "b", 2).await;
    c.writes("c").await;
    c.write_patiently("c", "c", 3).await;
    for (world, name) in [(&a, "a"), (&b, "b")] {
        world.sees(name, "c", 3).await;
    }

    // A lost region: no other region receives its writes before it ends.
    c.link("c", "*", LinkOrder::Cut).await;
    c.write_patiently("c", "only", 4).await;
    end(c.account).await;
    a.order(remove("c", true)).await;
    let c = machines.start_multi("c", &["a", "b"], true).await;
    let aside = || c.account.diverged_suffix("c").unwrap().unwrap();
    eventually("it is put aside", || aside().len() == 1).await;
    assert!(aside()[0].contains(r#""id":"only""#), "{:?}", aside());
    eventually("it knows", || {
        c.region("c").availability() == Availability::Removed
    })
    .await;
    a.account.add_peer("c").await.unwrap();
    c.writes("c").await;
    assert_eq!(c.peek("c", "only"), None);
    c.write_patiently("c", "c", 5).await;
    b.sees("b", "c", 5).await;
    for world in [a, b, c] {
        end(world.account).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_away_for_too_long_is_copied() {
    let machines = Machines::new(&["a", "b", "c"]).await;
    let a = machines.start_multi("a", &["b", "c"], false);
    let b = machines.start_multi("b", &["a", "c"], true);
    let c = machines.start_multi("c", &["a", "b"], true);
    let (a, b, c) = tokio::join!(a, b, c);
    a.create_container("a").await;
    for (world, name) in [(&b, "b"), (&c, "c")] {
        world.writes(name).await;
    }
    c.link("c", "*", LinkOrder::Cut).await;
    c.write_patiently("c", "cut", 1).await;
    end(c.account).await;
    assert_eq!(a.peek("a", "cut"), None);
    outrun(&a, &["a"], "x", 200_000).await;
    let c = machines.start_multi("c", &["a", "b"], true).await;
    c.sees("c", "a-x-49", 49).await;
    assert!(c.region("c").engine().copied_from().is_some());
    for (world, name) in [(&a, "a"), (&b, "b"), (&c, "c")] {
        world.sees(name, "cut", 1).await;
    }
    c.writes("c").await;
    c.write_patiently("c", "after", 2).await;
    a.sees("a", "after", 2).await;
    for world in [a, b, c] {
        end(world.account).await;
    }
}
