//! Every file of a data directory is damaged in every way: a flipped bit, a zeroed part, a
//! truncated end, a missing file, an old copy of the file.
//!
//! With durability `sync` no damage may lose an acknowledged write silently. Either the store
//! refuses to open with a message, or it has every write, or a read reports the damaged data; and
//! the check reports every damage. Without `ORRERY_DAMAGE_ROUNDS` the test tries only some kinds of
//! damage for each file.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orrery_log::{Disk, SystemDisk};
use orrery_partition::{Durability, Store, check};

use crate::support::{World, item, options};
use orrery_fault_disk::Random;

/// Without that variable, one in this number of damages is tried.
const SHORT: usize = 5;
const ROUNDS: &str = "ORRERY_DAMAGE_ROUNDS";
/// Number of items in the old copy, in the saved state, and in total.
const OLD: usize = 40;
const SAVED: usize = 80;
const ALL: usize = 120;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Damage {
    Flip,
    Zero,
    Cut,
    Remove,
    Old,
}

const DAMAGES: [Damage; 5] = [
    Damage::Flip,
    Damage::Zero,
    Damage::Cut,
    Damage::Remove,
    Damage::Old,
];

/// The number of runs with each outcome.
#[derive(Debug, Default)]
struct Ends {
    refused: usize,
    whole: usize,
    told_by_reads: usize,
}

fn text(number: usize) -> String {
    item(
        &number.to_string(),
        &format!(r#","x":"{}""#, "y".repeat(number * 7)),
    )
}

fn open(directory: &Path) -> World {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    World::open(directory, &disk, Durability::Sync, "")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            copy_file(&path, &target);
        }
    }
}

/// Copies blocks of zeros as holes, because the files of the engine and of the log consist largely
/// of zeros.
fn copy_file(from: &Path, to: &Path) {
    const BLOCK: usize = 64 << 10;
    let mut source = File::open(from).unwrap();
    let mut target = File::create(to).unwrap();
    let mut block = vec![0; BLOCK];
    loop {
        let count = source.read(&mut block).unwrap();
        if count == 0 {
            break;
        }
        if block[..count].iter().all(|byte| *byte == 0) {
            target
                .seek(SeekFrom::Current(i64::try_from(count).unwrap()))
                .unwrap();
        } else {
            target.write_all(&block[..count]).unwrap();
        }
    }
    target.set_len(source.metadata().unwrap().len()).unwrap();
}

/// Creates two copies of a data directory: one as a killed process leaves it, and an older one of
/// the same store.
fn made(root: &Path) -> (PathBuf, PathBuf) {
    let (directory, old, killed) = (root.join("data"), root.join("old"), root.join("killed"));
    let write = |world: &World, from: usize, to: usize| {
        for number in from..to {
            world.upsert(&text(number)).unwrap();
        }
    };
    let world = open(&directory);
    write(&world, 0, OLD);
    copy(&directory, &old);
    write(&world, OLD, SAVED);
    world.store.close().unwrap();
    let world = open(&directory);
    write(&world, SAVED, ALL);
    world.store.persist().unwrap();
    // Waits until the watermark names the last record, so that the copy has this watermark.
    crate::support::wait_until(|| {
        let marked =
            orrery_log::DurableWatermark::read(&SystemDisk, &directory.join("log.durable"));
        marked.unwrap() == orrery_log::WatermarkReading::Durable(world.store.applied())
    });
    copy(&directory, &killed);
    world.store.close().unwrap();
    (killed, old)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The offset after the last byte that is not zero.
fn content_bytes(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1)
}

/// Damages a file; returns false if the damage changes nothing.
fn damage(file: &Path, old: &Path, how: Damage, random: &mut Random) -> bool {
    let before = fs::read(file).unwrap();
    let content = content_bytes(&before);
    let mut after = before.clone();
    match how {
        Damage::Remove => {
            fs::remove_file(file).unwrap();
            return true;
        }
        Damage::Old if old.exists() => after = fs::read(old).unwrap(),
        _ if content == 0 => return false,
        Damage::Old => return false,
        Damage::Flip => after[random.below(content)] ^= 1 << random.below(8),
        Damage::Zero => {
            let from = random.below(content);
            let to = from + 1 + random.below(content - from);
            after[from..to].fill(0);
        }
        Damage::Cut => after.truncate(random.below(content)),
    }
    if after == before {
        return false;
    }
    fs::write(file, after).unwrap();
    true
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `run`, which may panic on damaged files, without printing the panic.
fn quietly<T>(run: impl FnOnce() -> T) -> Result<T, ()> {
    IS_QUIET.set(true);
    let ran = catch_unwind(AssertUnwindSafe(run));
    IS_QUIET.set(false);
    ran.map_err(|_| ())
}

/// Opens a damaged directory and reads every row. Returns whether no error occurred.
fn look(directory: &Path, ends: &mut Ends, what: &str) -> bool {
    // `World::open` panics if the store refuses to open.
    let Ok(world) = quietly(|| open(directory)) else {
        ends.refused += 1;
        return false;
    };
    let mut is_told = false;
    for number in 0..ALL {
        match quietly(|| world.try_read(&number.to_string())) {
            Ok(Ok(Some(found))) => {
                let expected = format!(r#""x":"{}""#, "y".repeat(number * 7));
                assert!(
                    found.contains(&expected),
                    "{what}: item {number} is {found}"
                );
            }
            Ok(Ok(None)) => panic!("{what}: item {number} is gone silently"),
            Ok(Err(_)) | Err(()) => is_told = true,
        }
    }
    // A damaged store may fail to close, so the result does not matter.
    let _ = quietly(|| world.store.close());
    if is_told {
        ends.told_by_reads += 1;
    } else {
        ends.whole += 1;
    }
    !is_told
}

#[test]
fn no_damage_loses_an_acknowledged_write_silently() {
    let asked: Option<usize> = std::env::var(ROUNDS).ok().map(|text| text.parse().unwrap());
    let rounds = asked.unwrap_or(1);
    let root = tempfile::tempdir().unwrap();
    let (directory, old) = made(root.path());
    let mut random = Random::new(7);
    let mut ends = Ends::default();
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !IS_QUIET.get() {
            told(info);
        }
    }));
    for round in 0..rounds {
        for (number, file) in files(&directory).into_iter().enumerate() {
            let name = file.strip_prefix(&directory).unwrap().to_owned();
            for (ordinal, how) in DAMAGES.into_iter().enumerate() {
                if asked.is_none() && (number + ordinal) % SHORT != 0 {
                    continue;
                }
                let copied = root.path().join("damaged");
                copy(&directory, &copied);
                if !damage(&copied.join(&name), &old.join(&name), how, &mut random) {
                    fs::remove_dir_all(&copied).unwrap();
                    continue;
                }
                let what = format!("round {round}, {how:?} of {}", name.display());
                let checked = root.path().join("checked");
                copy(&copied, &checked);
                let is_well = look(&copied, &mut ends, &what);
                let report = quietly(|| check(&checked));
                let is_clean = matches!(&report, Ok(Ok(report)) if report.problems.is_empty());
                assert!(is_well || !is_clean, "{what}: the check finds nothing");
                if is_well && is_clean {
                    // After the damaged store was opened, the rows derived from the items must be
                    // complete as well.
                    let after = check(&copied).unwrap().problems;
                    assert_eq!(after, [""; 0], "{what}: after it was opened");
                }
                fs::remove_dir_all(&copied).unwrap();
                fs::remove_dir_all(&checked).unwrap();
            }
        }
    }
    assert!(ends.refused > 10 && ends.whole > 0, "{ends:?}");
}

/// The engine recreates a keyspace that has lost its marker.
#[test]
fn a_map_without_its_marker_is_missed() {
    let root = tempfile::tempdir().unwrap();
    let world = open(&root.path().join("data"));
    world.upsert(&text(1)).unwrap();
    world.store.close().unwrap();
    let is_marker = |path: &PathBuf| path.file_name().is_some_and(|name| name == "current");
    let markers = files(&root.path().join("data"));
    let markers: Vec<PathBuf> = markers.into_iter().filter(is_marker).collect();
    // Eleven keyspaces, the keyspace of pending runs, and the engine's own.
    assert_eq!(markers.len(), 13);
    for marker in markers {
        let aside = root.path().join("aside");
        fs::rename(&marker, &aside).unwrap();
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        let refused = Store::open_on(&options(&root.path().join("data")), &disk);
        let message = refused.map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(&marker.display().to_string()), "{message}");
        assert!(check(&root.path().join("data")).is_err());
        fs::rename(&aside, &marker).unwrap();
    }
    let world = open(&root.path().join("data"));
    assert!(world.read("1").is_some());
}
