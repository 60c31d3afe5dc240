//! Measures the cost of storing documents in creation order within a logical partition.
//!
//! `cargo run --release -p orrery-storage --example creation_order`
//!
//! Three layouts of the same documents, whose ids are unrelated to the order of creation:
//! - `key`: documents under their ids, as today;
//! - `number`: documents under creation numbers, and an index from ids to numbers;
//! - `both`: documents under their ids, and an index from numbers to ids.

#![expect(clippy::print_stdout, reason = "an example shows what it has measured")]

use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_storage::{Batch, Error, KeyspaceId, Storage, StorageOptions};

const DOCUMENTS: KeyspaceId = KeyspaceId(0);
const ORDER: KeyspaceId = KeyspaceId(1);
const NAMES: [&str; 3] = ["documents", "order", "entries"];
const PARTITIONS: u32 = 100;
const ITEMS: u32 = 2_000;
const GROUP: usize = 100;
const PAGE: u32 = 100;
const READS: u32 = 50_000;
const DOCUMENT_BYTES: usize = 1_000;
/// The cache has room for a sixth of the documents, so most reads reach tables outside the cache.
const CACHE_BYTES: u64 = 32 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    Key,
    Number,
    Both,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("layout   create     point read  page of {PAGE}  bytes on disk");
    for layout in [Layout::Key, Layout::Number, Layout::Both] {
        let directory = tempfile::tempdir()?;
        let options = StorageOptions {
            cache_bytes: CACHE_BYTES,
            cached_keyspace: DOCUMENTS,
            buffered_keyspace: KeyspaceId(2),
            run_buffer_bytes: 1 << 20,
            required_keyspaces: 0,
        };
        let storage = Storage::open(directory.path(), &NAMES, options)?;
        let create = fill(&storage, layout)?;
        storage.flush()?;
        let read = point_reads(&storage, layout)?;
        let page = pages(&storage, layout)?;
        println!(
            "{:8} {create:>9.2?}  {read:>10.2?}  {page:>11.2?}  {}",
            format!("{layout:?}"),
            storage.disk_bytes()?
        );
    }
    Ok(())
}

/// The mean time of one create.
fn fill(storage: &Storage, layout: Layout) -> Result<Duration, Error> {
    let document = Bytes::from(vec![b'x'; DOCUMENT_BYTES]);
    let begun = Instant::now();
    let counts: Vec<u32> = (0..PARTITIONS * ITEMS).collect();
    for group in counts.chunks(GROUP) {
        let mut batch = Batch::default();
        for count in group {
            let (partition, number) = (count % PARTITIONS, count / PARTITIONS);
            let (by_id, by_number) = keys(partition.into(), number.into());
            match layout {
                Layout::Key => batch.put(DOCUMENTS, by_id, document.clone()),
                Layout::Number => {
                    batch.put(DOCUMENTS, by_number.clone(), document.clone());
                    batch.put(ORDER, by_id, by_number);
                }
                Layout::Both => {
                    batch.put(DOCUMENTS, by_id.clone(), document.clone());
                    batch.put(ORDER, by_number, by_id);
                }
            }
        }
        storage.write(batch)?;
    }
    Ok(begun.elapsed() / (PARTITIONS * ITEMS))
}

/// The mean time of one point read by id.
fn point_reads(storage: &Storage, layout: Layout) -> Result<Duration, Error> {
    let begun = Instant::now();
    for read in 0..READS {
        let count = mix(read.into()) % u64::from(PARTITIONS * ITEMS);
        let (partition, number) = (count % u64::from(PARTITIONS), count / u64::from(PARTITIONS));
        let (by_id, _) = keys(partition, number);
        let found = match layout {
            Layout::Key | Layout::Both => storage.get(DOCUMENTS, &by_id)?,
            Layout::Number => match storage.get(ORDER, &by_id)? {
                Some(by_number) => storage.get(DOCUMENTS, &by_number)?,
                None => None,
            },
        };
        assert!(found.is_some(), "every document is there");
    }
    Ok(begun.elapsed() / READS)
}

/// The mean time of one page when a query reads a logical partition from beginning to end.
fn pages(storage: &Storage, layout: Layout) -> Result<Duration, Error> {
    let snapshot = storage.snapshot();
    let begun = Instant::now();
    for partition in 0..PARTITIONS {
        let (from, to) = (
            u64::from(partition).to_be_bytes(),
            u64::from(partition + 1).to_be_bytes(),
        );
        let mut seen = 0_u32;
        match layout {
            Layout::Key | Layout::Number => {
                for entry in snapshot.range(DOCUMENTS, &from, Some(&to)) {
                    seen += u32::from(entry?.1.len() == DOCUMENT_BYTES);
                }
            }
            Layout::Both => {
                for entry in snapshot.range(ORDER, &from, Some(&to)) {
                    let document = snapshot.get(DOCUMENTS, &entry?.1)?;
                    seen += u32::from(document.is_some());
                }
            }
        }
        assert_eq!(seen, ITEMS, "every document is in a page");
    }
    Ok(begun.elapsed() / (PARTITIONS * ITEMS / PAGE))
}

/// The key of a document by its id, of a typical length, and the key by its creation number.
fn keys(partition: u64, number: u64) -> (Bytes, Bytes) {
    let prefix = partition.to_be_bytes();
    let id = format!("{:016x}{:016x}", mix(partition << 32 | number), mix(number));
    let by_id = [&prefix[..], id.as_bytes()].concat();
    let by_number = [&prefix[..], &number.to_be_bytes()].concat();
    (by_id.into(), by_number.into())
}

/// The numbers in a shuffled order.
fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}
