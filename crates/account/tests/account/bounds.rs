//! The bounds on requests that wait for other regions, and the errors beyond a bound.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use orrery_account::{LinkOrder, OperatorOrder};
use orrery_model::{ConsistencyLevel, Failure};

use crate::support::{Kind, PATIENCE, World, Writes, end, eventually};

const STRONG: ConsistencyLevel = ConsistencyLevel::Strong;
pub(crate) const WAITS: usize = 1_000;
const CONFIRMATIONS: usize = 10_000;

pub(crate) type Waiting<'a, T> = Vec<Pin<Box<dyn Future<Output = T> + Send + 'a>>>;

/// Begins `count` requests, all of which must wait.
pub(crate) fn begin<'a, T, F>(count: usize, one: impl Fn() -> F) -> Waiting<'a, T>
where
    F: Future<Output = T> + Send + 'a,
{
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting: Waiting<'a, T> = Vec::new();
    for _ in 0..count {
        let mut one = Box::pin(one());
        assert!(matches!(one.as_mut().poll(&mut context), Poll::Pending));
        waiting.push(one);
    }
    waiting
}

/// What is answered without any wait.
pub(crate) fn at_once<T>(one: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match Box::pin(one).as_mut().poll(&mut context) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("it waits"),
    }
}

/// Makes the waiting requests in `b` check their condition again, even after their time is over.
async fn something_moves(world: &World) {
    world.write_patiently("a", "moves", 1).await;
    world.sees("b", "moves", 1).await;
}

pub(crate) fn unavailable(result: &Result<(), Failure>) -> &str {
    match result {
        Err(Failure::Unavailable(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strong_reads_beyond_the_bound_are_refused_and_those_before_are_answered() {
    let world = World::in_memory(STRONG, &["a", "b"]);
    world.create_container("a").await;
    world.write_patiently("a", "x", 1).await;
    let delay = |millis| LinkOrder::Delay(Duration::from_millis(millis));
    // All of them must begin before the first is answered, and be answered within five seconds.
    world.link("b", "a", delay(2_500)).await;
    let region = world.region("b");
    let waiting = begin(CONFIRMATIONS, || region.check_read(STRONG));
    let refused = region.check_read(STRONG).await;
    assert!(unavailable(&refused).contains("too many reads wait"));
    assert!(region.check_read(ConsistencyLevel::Session).await.is_ok());
    for read in waiting {
        assert_eq!(read.await, Ok(()));
    }
    world.link("b", "a", delay(0)).await;
    // A dropped request frees its slot.
    world.isolate("b").await;
    drop(begin(CONFIRMATIONS, || region.check_read(STRONG)));
    drop(begin(CONFIRMATIONS, || region.check_read(STRONG)));
    world.connect("b").await;
    let read = || world.read("b", "x", STRONG);
    let begun = Instant::now();
    while read().await != Ok(Some(1)) {
        assert!(begun.elapsed() < PATIENCE);
    }
    drop(region);
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_beyond_the_bound_do_not_wait_for_their_session() {
    // There they wait for longest.
    let world = World::with_writes(None, &["a", "b"], Writes::PerPartition);
    world.create_container("a").await;
    let region = world.region("b");
    let engine = region.engine();
    assert!(engine.has_access_table());
    let (is_here, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
    let holds = |_: &_| {
        let is_here = is_here.load(Ordering::Relaxed);
        seen.fetch_add(usize::from(is_here), Ordering::Relaxed);
        is_here
    };
    let waiting = begin(WAITS, || region.wait_shortly(&engine, holds));
    at_once(region.wait_shortly(&engine, holds));
    is_here.store(true, Ordering::Relaxed);
    something_moves(&world).await;
    for read in waiting {
        read.await;
    }
    assert_eq!(seen.load(Ordering::Relaxed), WAITS);
    drop((region, engine));
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_beyond_the_bound_do_not_wait_for_what_their_author_has_seen() {
    let world = World::multi(None, &["a", "b"]);
    world.create_container("a").await;
    let region = world.region("b");
    let engine = region.engine();
    let is_here = AtomicBool::new(false);
    let holds = |_: &_| is_here.load(Ordering::Relaxed);
    let waiting = begin(WAITS, || region.wait_until(&engine, holds));
    assert!(!at_once(region.wait_until(&engine, holds)));
    is_here.store(true, Ordering::Relaxed);
    something_moves(&world).await;
    assert!(region.wait_until(&engine, holds).await);
    for write in waiting {
        assert!(write.await);
    }
    drop((region, engine));
    end(world.account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strong_writes_are_refused_when_those_before_have_waited_for_long() {
    let world = World::in_memory(STRONG, &["a", "b"]);
    world.create_container("a").await;
    world.write_patiently("a", "x", 1).await;
    let other = || "b".to_owned();
    world
        .order(OperatorOrder::TakeDown { region: other() })
        .await;
    let region = world.region("a");
    assert_eq!(region.check_write(), Ok(()));
    let waiting = world.begin("a", "x", Kind::Upsert, 2);
    eventually("writes are refused", || region.check_write().is_err()).await;
    assert!(unavailable(&region.check_write()).contains("too few of them answer"));
    world
        .order(OperatorOrder::BringUp { region: other() })
        .await;
    assert!(waiting.await.unwrap().is_ok());
    eventually("writes go on", || region.check_write().is_ok()).await;
    assert_eq!(world.peek("a", "x"), Some(2));
    drop(region);
    end(world.account).await;
}
