//! Restarts after a clean shutdown, after an abrupt end, and after damage.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use orrery_engine::{Container, Durability, Engine, StoreError, StoreStatus, check_directory};
use orrery_model::Failure;
use tempfile::TempDir;

use crate::support::{World, create, upsert};

/// The offset of the first frame in a log segment.
const SEGMENT_HEADER_BYTES: u64 = 4096;

async fn fill(world: &World, container: &Arc<Container>, from: u32, to: u32) {
    for number in from..to {
        let text = format!(r#"{{"id":"{number}","p":"a","n":{number}}}"#);
        world.ok(container, r#"["a"]"#, create(&text)).await;
    }
}

fn count(world: &World, from: u32, to: u32) -> usize {
    let container = world.find("c");
    let found = |number: &u32| {
        world
            .read(&container, r#"["a"]"#, &number.to_string())
            .is_ok()
    };
    (from..to).filter(found).count()
}

/// The newest log segment and the end of its written part.
fn log_tail(directory: &Path) -> (PathBuf, u64) {
    let entries = fs::read_dir(directory.join("log")).unwrap();
    let segments = entries.map(|entry| entry.unwrap().path());
    let newest = segments.filter(|path| is_segment(path)).max().unwrap();
    let bytes = fs::read(&newest).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    (newest, end as u64)
}

fn is_segment(path: &Path) -> bool {
    fs::read(path).unwrap().starts_with(b"ORRERYLG")
        && !path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .contains("spare")
}

fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

/// A directory with items 0 to 10. The log contains every item; the state on disk contains them
/// only if `saved`.
async fn unsaved(directory: &Path, saved: bool) -> TempDir {
    let world = World::at(directory).await;
    let container = world.container("c", "").await;
    fill(&world, &container, 0, 10).await;
    let copy = tempfile::tempdir().unwrap();
    if saved {
        // Before the close, the engine may still buffer the last writes.
        world.close().await;
        copy_directory(directory, copy.path());
    } else {
        copy_directory(directory, copy.path());
        fs::remove_dir_all(copy.path().join("state")).unwrap();
        // The file may already mark the last record as durable, and then no end of the log counts
        // as torn.
        fs::remove_file(copy.path().join("log.durable")).unwrap();
        world.close().await;
    }
    copy
}

/// Copies the files of a running process. Their present bytes are what a killed process would
/// leave.
fn copy_directory(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_directory(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

async fn refusal(directory: &Path) -> String {
    let Err(error) = World::open(Some(directory), Durability::Sync).await else {
        panic!("damage was not noticed");
    };
    format!("{error}")
}

#[tokio::test]
async fn a_closed_store_opens_again_and_is_clean() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::at(directory.path()).await;
    let container = world.container("c", "").await;
    fill(&world, &container, 0, 10).await;
    let counters = container.partitions[0].counters();
    let world = world.reopen().await;
    assert_eq!(count(&world, 0, 10), 10);
    assert_eq!(world.find("c").partitions[0].counters(), counters);
    world.close().await;
    let report = check_directory(directory.path()).unwrap();
    assert_eq!(
        (report.documents, report.problems),
        (10, Vec::<String>::new())
    );
}

#[tokio::test]
async fn a_store_that_was_not_closed_has_everything_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::at(directory.path()).await;
    world.container("c", "").await;
    for round in 0..3 {
        fill(&world, &world.find("c"), round * 10, round * 10 + 10).await;
        world = world.abandon().await;
        assert_eq!(
            count(&world, 0, round * 10 + 10),
            (round * 10 + 10) as usize
        );
    }
    world.close().await;
    assert_eq!(
        check_directory(directory.path()).unwrap().problems,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn the_files_of_a_running_process_hold_everything_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    for saved in [true, false] {
        let copy = unsaved(&directory.path().join(saved.to_string()), saved).await;
        let world = World::at(copy.path()).await;
        assert_eq!(count(&world, 0, 10), 10, "state kept: {saved}");
        let counters = world.find("c").partitions[0].counters();
        assert_eq!(
            (counters.lsn.0, counters.items),
            (11, 10),
            "state kept: {saved}"
        );
        world.close().await;
        assert_eq!(
            check_directory(copy.path()).unwrap().problems,
            Vec::<String>::new()
        );
    }
}

#[tokio::test]
async fn two_processes_cannot_have_the_same_directory() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::at(directory.path()).await;
    let second = World::open(Some(directory.path()), Durability::Sync).await;
    assert!(matches!(second.err(), Some(StoreError::InUse(_))));
    assert!(matches!(
        check_directory(directory.path()),
        Err(StoreError::InUse(_))
    ));
    world.close().await;
}

#[tokio::test]
async fn an_unfinished_write_at_the_end_of_the_log_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let copy = unsaved(directory.path(), true).await;
    let (segment, end) = log_tail(copy.path());
    // The start of a frame whose end is missing.
    let mut torn = vec![7; 16];
    torn.extend_from_slice(b"OREC");
    torn.extend_from_slice(&[200, 0, 0, 0, 9, 9, 9]);
    overwrite(&segment, end.next_multiple_of(8), &torn);
    let report = check_directory(copy.path()).unwrap();
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert!(
        report.problems[0].contains("never acknowledged"),
        "{report:?}"
    );

    let world = World::at(copy.path()).await;
    assert_eq!(count(&world, 0, 10), 10);
    fill(&world, &world.find("c"), 10, 12).await;
    let world = world.reopen().await;
    assert_eq!(count(&world, 0, 12), 12);
    world.close().await;
    assert_eq!(
        check_directory(copy.path()).unwrap().problems,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_torn_last_record_takes_nothing_else_with_it() {
    let directory = tempfile::tempdir().unwrap();
    // Without the state on disk, recovery uses the log alone: the last record is lost, all others
    // stay.
    let copy = unsaved(directory.path(), false).await;
    let (segment, end) = log_tail(copy.path());
    overwrite(&segment, end - 20, &[0; 20]);
    let world = World::at(copy.path()).await;
    assert_eq!((count(&world, 0, 9), count(&world, 9, 10)), (9, 0));
    assert_eq!(world.find("c").partitions[0].counters().lsn.0, 10);
    world.close().await;
}

#[tokio::test]
async fn a_state_that_is_newer_than_the_log_is_kept_where_not_every_write_is_synced() {
    let directory = tempfile::tempdir().unwrap();
    let copy = unsaved(directory.path(), true).await;
    let (segment, end) = log_tail(copy.path());
    overwrite(&segment, end - 20, &[0; 20]);
    let message = refusal(copy.path()).await;
    assert!(
        message.contains("has lost records") && message.contains("--accept-loss"),
        "{message}"
    );
    assert_ne!(
        check_directory(copy.path()).unwrap().problems,
        Vec::<String>::new()
    );

    // Unsynced records are not marked as durable.
    fs::remove_file(copy.path().join("log.durable")).unwrap();
    let opened = World::open(Some(copy.path()), Durability::None).await;
    opened.unwrap().close().await;
    let world = World::at(copy.path()).await;
    assert_eq!(count(&world, 0, 10), 10);
    assert!(copy.path().join("log.aside.1").is_dir());
    fill(&world, &world.find("c"), 10, 12).await;
    let world = world.abandon().await;
    assert_eq!(count(&world, 0, 12), 12);
    world.close().await;
    assert_eq!(
        check_directory(copy.path()).unwrap().problems,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn damage_in_the_middle_of_the_log_is_never_served() {
    let directory = tempfile::tempdir().unwrap();
    for saved in [true, false] {
        let copy = unsaved(&directory.path().join(saved.to_string()), saved).await;
        let (segment, end) = log_tail(copy.path());
        let middle = u64::midpoint(SEGMENT_HEADER_BYTES, end);
        overwrite(&segment, middle, b"damage");
        let message = refusal(copy.path()).await;
        assert!(
            message.contains("is damaged although it had been made durable"),
            "{message}"
        );
        assert!(
            message.contains(&segment.display().to_string()),
            "{message}"
        );
        assert_ne!(
            check_directory(copy.path()).unwrap().problems,
            Vec::<String>::new()
        );
    }
}

#[tokio::test]
async fn a_directory_of_another_format_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    World::at(directory.path()).await.close().await;
    fs::write(directory.path().join("FORMAT"), "orrery 99\n").unwrap();
    let message = refusal(directory.path()).await;
    assert!(message.starts_with("data format 99 in "), "{message}");
}

#[tokio::test]
async fn writes_are_refused_while_the_log_cannot_go_on_and_reads_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::open(Some(directory.path()), Durability::None)
        .await
        .unwrap();
    let container = world.container("c", "").await;
    fill(&world, &container, 0, 3).await;
    // The log cannot create its next segment, because a directory has that name.
    let next = directory
        .path()
        .join("log")
        .join(next_segment_name(directory.path()));
    fs::create_dir(&next).unwrap();
    let big = "x".repeat(1_500_000);
    let text = format!(r#"{{"id":"big","p":"a","x":"{big}"}}"#);
    let mut acknowledged = 0;
    let failure = loop {
        match world
            .write(&container, r#"["a"]"#, upsert(&text))
            .await
            .result
        {
            Ok(_) => acknowledged += 1,
            Err(failure) => break failure,
        }
        assert!(acknowledged < 100, "the log needs no second segment");
    };
    assert!(
        matches!(&failure, Failure::Unavailable(text) if text.contains("Reads continue")),
        "{failure}"
    );
    let lsn = container.partitions[0].counters().lsn.0;
    assert_eq!(lsn, 1 + 3 + acknowledged);

    assert!(matches!(
        world.engine.store_status(),
        StoreStatus::Refusing(_)
    ));
    assert_eq!(count(&world, 0, 3), 3);
    assert_eq!(
        world
            .read(&container, r#"["a"]"#, "big")
            .unwrap()
            .item_lsn
            .0,
        lsn
    );

    // Removing the obstacle at `next` suffices: the store takes writes again without a restart.
    fs::remove_dir(&next).unwrap();
    let written = world.write(&container, r#"["a"]"#, upsert(&text)).await;
    written.result.unwrap();
    assert_eq!(world.engine.store_status(), StoreStatus::Writable);
    let lsn = lsn + 1;
    let world = world.abandon().await;
    assert_eq!(count(&world, 0, 3), 3);
    let container = world.find("c");
    assert_eq!(container.partitions[0].counters().lsn.0, lsn);
    fill(&world, &container, 3, 5).await;
    world.close().await;
    assert_eq!(
        check_directory(directory.path()).unwrap().problems,
        Vec::<String>::new()
    );
}

fn next_segment_name(directory: &Path) -> String {
    let (newest, _) = log_tail(directory);
    let name = newest.file_name().unwrap().to_string_lossy().into_owned();
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let next = digits.parse::<u64>().unwrap() + 1;
    name.replace(&digits, &format!("{next:0width$}", width = digits.len()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_end_waits_for_work_in_the_background() {
    let World { engine, .. } = World::in_memory().await;
    let held = Arc::clone(&engine);
    let work = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        drop(held);
    });
    Engine::close(engine).unwrap();
    work.join().unwrap();
}
