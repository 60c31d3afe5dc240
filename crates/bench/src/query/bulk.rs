//! Loads items the way an application does: with transactional batches on several connections. The
//! server answers each batch only when it is durable.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::data::{Dataset, PARTITIONS};
use crate::client_pool::{ClientPool, PoolClient};

const BATCH_OPERATIONS: u64 = 100;
const OK: u16 = 200;
const THROTTLED: u16 = 429;
const BACKOFF_DEFAULT_MS: u64 = 100;

/// Loads all documents. Returns the time from the first request to the last answer.
pub(crate) async fn bulk_load(pool: &ClientPool, data: Dataset) -> Result<Duration> {
    let next = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let loaded = pool
        .work(move |client| load_batches(client, data, Arc::clone(&next)))
        .await
        .context("loading the items")?;
    let loaded: u64 = loaded.into_iter().sum();
    if loaded != data.items {
        bail!("{loaded} of {} items were loaded", data.items);
    }
    Ok(began.elapsed())
}

/// Loads batches until none is left. All connections take their batches from one counter.
async fn load_batches(mut client: PoolClient, data: Dataset, next: Arc<AtomicU64>) -> Result<u64> {
    let mut body = Vec::new();
    let mut loaded = 0;
    loop {
        let batch = next.fetch_add(1, Ordering::Relaxed);
        let items = batch_items(&data, batch);
        if items.is_empty() {
            return Ok(loaded);
        }
        // Consecutive batches are of different partitions, so that no partition gets all
        // connections at once.
        let pk = batch % PARTITIONS;
        write_batch(&mut body, &data, pk, items.clone());
        client.writer.batch(&format!("p{pk}"), &body);
        if let Err(error) = send(&mut client).await {
            // The other connections stop at their next batch, since the run has failed.
            next.store(u64::MAX / 2, Ordering::Relaxed);
            return Err(error);
        }
        loaded += items.end - items.start;
    }
}

/// All batches: the partition and the item numbers of each.
pub(crate) fn batches(data: &Dataset) -> impl Iterator<Item = (u64, Range<u64>)> {
    (0..)
        .map(|batch| (batch % PARTITIONS, batch_items(data, batch)))
        .take_while(|(_, items)| !items.is_empty())
}

/// The items of one batch, as indexes within its partition: the partitions take turns.
fn batch_items(data: &Dataset, batch: u64) -> Range<u64> {
    let all = data.items_of_partition();
    let from = (batch / PARTITIONS * BATCH_OPERATIONS).min(all);
    from..(from + BATCH_OPERATIONS).min(all)
}

/// Writes the body of a batch into a reused buffer.
fn write_batch(body: &mut Vec<u8>, data: &Dataset, pk: u64, items: Range<u64>) {
    body.clear();
    for index in items {
        body.push(if body.is_empty() { b'[' } else { b',' });
        body.extend_from_slice(b"{\"operationType\":\"Create\",\"resourceBody\":");
        data.write(body, index * PARTITIONS + pk);
        body.push(b'}');
    }
    body.push(b']');
}

/// Sends the prepared batch, and repeats it while the server throttles.
async fn send(client: &mut PoolClient) -> Result<()> {
    loop {
        let exchange = client.connection.exchange(client.writer.bytes()).await;
        let response = exchange.context("sending a batch")?;
        match response.head.status {
            OK => return Ok(()),
            THROTTLED => {
                let pause = response.head.retry_after_ms.unwrap_or(BACKOFF_DEFAULT_MS);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            status => {
                let shown = response.body.len().min(2000);
                let body = String::from_utf8_lossy(&response.body[..shown]);
                bail!("a batch was answered {status}: {body}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn batches_cover_every_item_once() {
        let data = Dataset::new(25_000, 400, 1).unwrap();
        let mut numbers = BTreeSet::new();
        for (pk, items) in batches(&data) {
            for index in items {
                assert!(numbers.insert(index * PARTITIONS + pk));
            }
        }
        assert!(numbers.into_iter().eq(0..25_000));
    }

    #[test]
    fn a_batch_is_json() {
        let data = Dataset::new(1000, 400, 1).unwrap();
        let mut body = Vec::new();
        write_batch(&mut body, &data, 7, 0..10);
        let batch: Vec<serde_json::Value> = serde_json::from_slice(&body).unwrap();
        assert_eq!(batch.len(), 10);
        assert_eq!(batch[1]["resourceBody"]["id"], "107");
    }
}
