//! Syncs of the log that nobody waits for.
//!
//! What another region has acknowledged is durable there, so below bounded staleness it may be read here
//! as soon as it is written: a reader does not wait for this disk, and the records of some milliseconds
//! share a sync. Should the power fail before it, they are asked for again. A write of this store's own
//! is synced before it is answered as ever, and everything before it in the log along with it.
//!
//! A sync is of the file and not of whoever has it open, so it is done here over another handle while
//! the committer goes on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use orrery_log::{Disk, Log, Position};

use crate::Error;
use crate::command::Command;
use crate::committer::Committer;

/// What is written meanwhile shares the next sync.
const GATHER: Duration = Duration::from_millis(5);

/// When records of other regions can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Seen {
    /// When they are durable here.
    #[default]
    Durable,
    /// When they are written here, and in the region that they come from durable.
    Written,
    /// When somebody says so: what the log has beyond the state stays out of it until then.
    Told,
}

/// The end of the committer.
pub(crate) struct LateSyncs {
    asked: Sender<Asked>,
    is_under_way: bool,
}

pub(crate) struct Asked {
    segment: PathBuf,
    upto: Position,
}

impl LateSyncs {
    pub(crate) fn new(asked: Sender<Asked>) -> LateSyncs {
        LateSyncs {
            asked,
            is_under_way: false,
        }
    }

    /// Has what the log has written synced, unless something else is just being.
    pub(crate) fn ask(&mut self, log: &Log) {
        if !self.is_under_way && log.durable() < log.last() {
            let (segment, upto) = (log.tail(), log.last());
            // Nobody hears it while the store is closing, which syncs.
            self.is_under_way = self.asked.send(Asked { segment, upto }).is_ok();
        }
    }

    /// What was asked is done. Asks for what was written meanwhile.
    pub(crate) fn done(&mut self, log: &mut Log, upto: Position) {
        log.synced(upto);
        self.is_under_way = false;
        self.ask(log);
    }
}

impl Committer {
    /// [`Committer::append`] for records that another region keeps, which are perhaps durable later.
    pub(crate) fn append_foreign(&mut self, payloads: &[Bytes]) -> Result<Position, Error> {
        self.wait_for_room(payloads)?;
        let (Some(log), Some(late_syncs)) = (&mut self.log, &mut self.late_syncs) else {
            return self.append_payloads(payloads);
        };
        for payload in payloads {
            log.append(payload);
        }
        let position = log.write()?;
        self.health.set_durable(log.durable());
        late_syncs.ask(log);
        Ok(position)
    }

    pub(crate) fn synced_late(&mut self, upto: Position) {
        if let (Some(log), Some(late_syncs)) = (&mut self.log, &mut self.late_syncs) {
            late_syncs.done(log, upto);
            self.health.set_durable(log.durable());
        }
    }
}

/// Syncs whatever is asked until the store is closing.
pub(crate) fn sync_late(
    disk: &Arc<dyn Disk>,
    asked: &Receiver<Asked>,
    told: &Weak<Sender<Command>>,
) {
    while let Ok(Asked { segment, upto }) = asked.recv() {
        thread::sleep(GATHER);
        let command = match sync(&**disk, &segment) {
            Ok(()) => Command::Synced(upto),
            Err(error) => Command::NotSaved(Error::io("sync", &segment)(error)),
        };
        let sent = told.upgrade().map(|told| told.send(command));
        if !matches!(sent, Some(Ok(()))) {
            return;
        }
    }
}

fn sync(disk: &dyn Disk, segment: &Path) -> io::Result<()> {
    match disk.open_write(segment) {
        Ok(mut file) => file.sync(),
        // It was sealed, and so synced, and is needed no more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
