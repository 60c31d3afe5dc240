//! The disk: files, names, and the versions of both that a crash may leave.
//!
//! Every write is stored as a separate version until a sync. A crash selects for each 512-byte
//! sector independently which version the disk has, sometimes a part of one, and for each unsynced
//! name change whether it happened.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_log::{Disk, DiskFile};

use crate::Random;

const SECTOR_BYTES: usize = 512;

#[derive(Clone, Default)]
pub struct FaultDisk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    name_changes: Vec<NameChange>,
    /// Remaining changes before every call fails.
    budget: Option<usize>,
    capacity: Option<usize>,
    failing_syncs: bool,
    /// Whether syncs report success and make nothing durable.
    forgotten_syncs: bool,
    syncs: usize,
    /// Number of disk calls so far, and the number of the failing call.
    calls: usize,
    fault: Option<(usize, Fault)>,
    has_no_files: bool,
}

/// The kind of failure of one disk call.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The device reports an error, and no byte of the write is on the disk.
    Device,
    /// The disk is full after half of the bytes of a write.
    Full,
    /// The process has no free file handle.
    NoFiles,
    /// The device reports an error after half of a write.
    Half,
}

impl Fault {
    fn error(self) -> io::Error {
        match self {
            Fault::Device | Fault::Half => io::Error::other("the device reports an error"),
            Fault::Full => io::ErrorKind::StorageFull.into(),
            Fault::NoFiles => io::Error::other("too many open files"),
        }
    }
}

#[derive(Clone, Default)]
struct Inode {
    current: Vec<u8>,
    durable: Vec<u8>,
    writes: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

enum NameChange {
    Link(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl FaultDisk {
    /// Stops the machine after this number of changes.
    pub fn stop_after(&self, changes: usize) {
        self.lock().budget = Some(changes);
    }

    pub fn set_capacity(&self, bytes: Option<usize>) {
        self.lock().capacity = bytes;
    }

    pub fn used(&self) -> usize {
        self.lock().used()
    }

    /// Makes syncs fail, and the system forget that the pages were dirty.
    pub fn fail_syncs(&self, failing: bool) {
        self.lock().failing_syncs = failing;
    }

    /// Makes syncs report success without any effect, as a disk with a lying cache does.
    pub fn forget_syncs(&self, forgotten: bool) {
        self.lock().forgotten_syncs = forgotten;
    }

    /// Makes one disk call fail: the call with this number, counted from 1 from now on.
    pub fn fail_call(&self, number: usize, fault: Fault) {
        let mut state = self.lock();
        state.calls = 0;
        state.fault = Some((number, fault));
    }

    /// Whether the log has made the call that `fail_call` selects.
    pub fn has_failed(&self) -> bool {
        let state = self.lock();
        state.fault.is_some_and(|(number, _)| state.calls >= number)
    }

    /// While `has_no_files` is true, the process has no free file handle and can open no file.
    pub fn refuse_files(&self, has_no_files: bool) {
        self.lock().has_no_files = has_no_files;
    }

    pub fn repair(&self) {
        self.lock().fault = None;
    }

    pub fn syncs(&self) -> usize {
        self.lock().syncs
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        self.lock().names.keys().cloned().collect()
    }

    pub fn content(&self, path: &Path) -> Vec<u8> {
        let state = self.lock();
        state.inodes[state.names[path]].current.clone()
    }

    /// Damages the disk: changes bytes without a write.
    pub fn damage(&self, path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.lock();
        let index = state.names[path];
        let inode = &mut state.inodes[index];
        assert!(inode.writes.is_empty(), "damage comes after a sync");
        edit(&mut inode.current);
        inode.durable = inode.current.clone();
    }

    pub fn delete(&self, path: &Path) {
        let mut state = self.lock();
        state.names.remove(path);
        state.durable_names.remove(path);
    }

    /// The disk as the next start of the machine finds it.
    #[must_use]
    pub fn crash(&self, random: &mut Random) -> FaultDisk {
        let mut state = self.lock();
        let mut names = state.durable_names.clone();
        for change in std::mem::take(&mut state.name_changes) {
            if random.chance(50) {
                change.apply(&mut names);
            }
        }
        let mut inodes = Vec::new();
        for inode in &state.inodes {
            let survived = inode.survivors(random);
            inodes.push(Inode {
                current: survived.clone(),
                durable: survived,
                writes: Vec::new(),
            });
        }
        let durable_names = names.clone();
        let state = State {
            inodes,
            names,
            durable_names,
            ..State::default()
        };
        FaultDisk(Arc::new(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, inode: usize) -> Box<dyn DiskFile> {
        Box::new(FaultFile {
            disk: self.clone(),
            inode,
        })
    }
}

impl State {
    /// Counts a disk call and returns the fault if this is the failing call.
    fn call(&mut self) -> Option<Fault> {
        self.calls += 1;
        self.fault
            .filter(|(number, _)| *number == self.calls)
            .map(|(_, fault)| fault)
    }

    /// [`State::called`] for a call that needs a file handle.
    fn opened(&mut self) -> io::Result<()> {
        self.called()?;
        if self.has_no_files {
            Err(Fault::NoFiles.error())
        } else {
            Ok(())
        }
    }

    fn called(&mut self) -> io::Result<()> {
        self.call().map_or(Ok(()), |fault| Err(fault.error()))
    }

    fn used(&self) -> usize {
        self.names
            .values()
            .map(|&inode| self.inodes[inode].current.len())
            .sum()
    }

    /// Whether the machine still runs. The last change before it stops may reach the disk.
    fn spend(&mut self) -> io::Result<()> {
        match &mut self.budget {
            Some(0) => Err(io::Error::other("the machine has stopped")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        self.spend()?;
        change.apply(&mut self.names);
        self.name_changes.push(change);
        Ok(())
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            NameChange::Link(path, inode) => {
                names.insert(path.clone(), *inode);
            }
            NameChange::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            NameChange::Remove(path) => {
                names.remove(path);
            }
        }
    }
}

impl Inode {
    fn survivors(&self, random: &mut Random) -> Vec<u8> {
        let mut result = self.durable.clone();
        let size_max = self
            .writes
            .iter()
            .fold(result.len(), |size, change| match change {
                Change::Write { offset, bytes } => size.max(offset + bytes.len()),
                Change::Truncate(_) => size,
            });
        if size_max == self.durable.len() && self.writes.is_empty() {
            return result;
        }
        let all_or_nothing = random.below(10);
        for sector in 0..size_max.div_ceil(SECTOR_BYTES) {
            let start = sector * SECTOR_BYTES;
            let end = start + SECTOR_BYTES;
            let touching: Vec<(usize, &[u8])> = self
                .writes
                .iter()
                .filter_map(|change| match change {
                    Change::Write { offset, bytes }
                        if *offset < end && offset + bytes.len() > start =>
                    {
                        let from = start.max(*offset);
                        let to = end.min(offset + bytes.len());
                        Some((from, &bytes[from - offset..to - offset]))
                    }
                    _ => None,
                })
                .collect();
            let kept = match all_or_nothing {
                0 => touching.len(),
                1 => 0,
                _ => random.below(touching.len() + 1),
            };
            for (index, (offset, bytes)) in touching[..kept].iter().enumerate() {
                let torn = index + 1 == kept && all_or_nothing > 1 && random.chance(10);
                let count = if torn {
                    random.below(bytes.len() + 1)
                } else {
                    bytes.len()
                };
                grow(&mut result, offset + count);
                result[*offset..offset + count].copy_from_slice(&bytes[..count]);
            }
        }
        for change in &self.writes {
            if let Change::Truncate(size) = change
                && random.chance(50)
            {
                result.truncate(result.len().min(*size));
            }
        }
        result
    }
}

impl Disk for FaultDisk {
    fn create_dir(&self, _dir: &Path) -> io::Result<()> {
        self.lock().called()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.lock().called()?;
        Ok(self
            .paths()
            .into_iter()
            .filter(|path| path.parent() == Some(dir))
            .collect())
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        state.opened()?;
        let inode = state.names.get(path).copied();
        drop(state);
        Ok(self.handle(inode.ok_or(io::ErrorKind::NotFound)?))
    }

    fn open_write(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.open_read(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        state.opened()?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.change_name(NameChange::Link(path.to_owned(), inode))?;
        drop(state);
        Ok(self.handle(inode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.called()?;
        assert!(state.names.contains_key(from) && !state.names.contains_key(to));
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.called()?;
        state.change_name(NameChange::Remove(path.to_owned()))
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.called()?;
        state.spend()?;
        state.durable_names = state.names.clone();
        state.name_changes.clear();
        Ok(())
    }
}

struct FaultFile {
    disk: FaultDisk,
    inode: usize,
}

impl DiskFile for FaultFile {
    fn size(&mut self) -> io::Result<u64> {
        let mut state = self.disk.lock();
        state.called()?;
        Ok(state.inodes[self.inode].current.len() as u64)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.lock();
        state.called()?;
        let current = &state.inodes[self.inode].current;
        let start = current.len().min(file_offset(offset));
        let count = buffer.len().min(current.len() - start);
        buffer[..count].copy_from_slice(&current[start..start + count]);
        Ok(count)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        let offset = file_offset(offset);
        let fault = state.call();
        let bytes = match fault {
            None => bytes,
            Some(Fault::Device | Fault::NoFiles) => &[],
            Some(Fault::Full | Fault::Half) => &bytes[..bytes.len() / 2],
        };
        let spent = state.spend();
        let (used, capacity) = (state.used(), state.capacity.unwrap_or(usize::MAX));
        let inode = &mut state.inodes[self.inode];
        let end = offset + bytes.len();
        let growth = end.saturating_sub(inode.current.len());
        // A full disk writes as many bytes as fit before it fails.
        let refused = growth.min((used + growth).saturating_sub(capacity));
        let bytes = &bytes[..bytes.len() - refused];
        if spent.is_ok() {
            grow(&mut inode.current, offset + bytes.len());
            inode.current[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        inode.writes.push(Change::Write {
            offset,
            bytes: bytes.to_vec(),
        });
        spent?;
        if let Some(fault) = fault {
            return Err(fault.error());
        }
        if refused > 0 {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.called()?;
        state.spend()?;
        let inode = &mut state.inodes[self.inode];
        let size = file_offset(size);
        inode.current.truncate(size);
        inode.writes.push(Change::Truncate(size));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let fault = state.call();
        state.spend()?;
        state.syncs += 1;
        if state.forgotten_syncs {
            return Ok(());
        }
        let failing = state.failing_syncs || fault.is_some();
        let inode = &mut state.inodes[self.inode];
        let writes = std::mem::take(&mut inode.writes);
        if failing {
            return Err(io::Error::other("the device failed to flush"));
        }
        // A sync writes only dirty pages: bytes of a failed sync stay unwritten unless they are
        // written again.
        for change in writes {
            match change {
                Change::Write { offset, bytes } => {
                    grow(&mut inode.durable, offset + bytes.len());
                    inode.durable[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
                Change::Truncate(size) => inode.durable.truncate(size),
            }
        }
        Ok(())
    }
}

/// A simulated file is in memory, so its offsets fit.
fn file_offset(offset: u64) -> usize {
    usize::try_from(offset).expect("a file in memory is smaller than the address space")
}

/// `Vec::resize` is slow in a debug build, and this code runs often.
fn grow(bytes: &mut Vec<u8>, size: usize) {
    if size > bytes.len() {
        bytes.extend_from_slice(&vec![0; size - bytes.len()]);
    }
}
