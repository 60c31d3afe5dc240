//! One run of a log beside its model.

use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_log::{AppendError, CommitLog, CommitStatus, EncodedRecords, Error, Position};

use orrery_fault_disk::Random;

/// Maximum bytes of one record.
const RECORD_BYTES_MAX: usize = 3_000;

/// A log with its environment.
pub trait Subject {
    /// Opens the log with the records that survived, as a start of the process does. A log that keeps
    /// no records continues after `after`.
    fn open(&mut self, after: Position) -> Box<dyn CommitLog>;

    /// The surviving records of the closed log.
    fn survivors(&mut self) -> Survivors;

    /// Makes the environment refuse, delay or admit calls from now on.
    fn disturb(&mut self, _random: &mut Random) {}

    /// Removes every disturbance and lets other nodes confirm every record.
    fn settle(&mut self) {}

    /// Stops the machine, which loses every write that no sync covers. False if this subject never
    /// crashes.
    fn crash(&mut self, _random: &mut Random) -> bool {
        false
    }
}

/// The records that a closed log has.
pub enum Survivors {
    /// The log keeps no records.
    Nothing,
    /// The records from this position on, oldest first.
    Records(Position, Vec<Bytes>),
}

struct Run<'a> {
    subject: &'a mut dyn Subject,
    log: Box<dyn CommitLog>,
    random: Random,
    seed: u64,
    /// Every accepted record; the record at position `n` has index `n - 1`.
    accepted: Vec<Bytes>,
    durable: Position,
    committed: Position,
    trimmed: Position,
    now: Instant,
}

/// Runs `steps` steps. A violation of the contract panics.
pub fn check(subject: &mut dyn Subject, seed: u64, steps: usize) {
    let log = subject.open(Position::ZERO);
    assert_eq!(log.last(), Position::ZERO, "a new log is empty");
    let mut run = Run {
        subject,
        log,
        random: Random::new(seed),
        seed,
        accepted: Vec::new(),
        durable: Position::ZERO,
        committed: Position::ZERO,
        trimmed: Position::ZERO,
        now: Instant::now(),
    };
    for _ in 0..steps {
        run = run.step();
    }
    run.subject.settle();
    run = run.restart();
    assert!(
        run.accepts_again(),
        "seed {seed}: a settled log refuses records"
    );
}

impl<'a> Run<'a> {
    fn step(mut self) -> Run<'a> {
        let is_sound = match self.random.below(16) {
            0..=6 => self.append(),
            7 => self.append_copies(),
            8 => self.sync(),
            9 => self.tick(),
            10 => self.trim(),
            11 => self.reserve(),
            12 | 13 => {
                self.subject.disturb(&mut self.random);
                true
            }
            14 => return self.restart(),
            _ => return self.crash(),
        };
        if !is_sound {
            return self.reopen_after_failure();
        }
        self.compare();
        self
    }

    fn batch(&mut self, records_min: usize) -> Vec<Bytes> {
        let count = records_min + self.random.below(4);
        let record = |random: &mut Random| {
            let byte = u8::try_from(random.below(256)).unwrap_or(0);
            Bytes::from(vec![byte; random.below(RECORD_BYTES_MAX)])
        };
        (0..count).map(|_| record(&mut self.random)).collect()
    }

    /// Returns false if the log has failed for good.
    fn append(&mut self) -> bool {
        let seed = self.seed;
        let records = self.batch(0);
        let before = self.log.last();
        match self.log.append(&EncodedRecords(&records)) {
            Ok(appended) => {
                assert_eq!(
                    appended.last,
                    self.log.last(),
                    "seed {seed}: the last position"
                );
                let payloads = appended.payloads.unwrap_or_else(|| records.clone());
                assert!(
                    payloads.ends_with(&records),
                    "seed {seed}: an accepted batch is appended whole, after the notes of the log"
                );
                assert_eq!(
                    appended.last.0 - before.0,
                    payloads.len() as u64,
                    "seed {seed}: a position for each record"
                );
                self.accepted.extend(payloads);
                self.log.on_readable(appended.last);
                true
            }
            Err(AppendError::Busy | AppendError::NotOwner | AppendError::Throttled { .. }) => {
                self.assert_unchanged(before)
            }
            Err(AppendError::Log(error)) => self.judge(&error, before),
        }
    }

    fn append_copies(&mut self) -> bool {
        let records = self.batch(1);
        let before = self.log.last();
        match self.log.append_copies(&records) {
            Ok(last) => {
                self.accepted.extend(records);
                assert_eq!(last.0, self.accepted.len() as u64, "seed {}", self.seed);
                true
            }
            Err(error) => self.judge(&error, before),
        }
    }

    fn sync(&mut self) -> bool {
        match self.log.sync() {
            Ok(()) => {
                assert_eq!(
                    self.log.durable(),
                    self.log.last(),
                    "seed {}: a sync makes everything durable",
                    self.seed
                );
                true
            }
            Err(error) => self.judge(&error, self.log.last()),
        }
    }

    fn tick(&mut self) -> bool {
        self.now += Duration::from_millis(self.random.number() % 50);
        match self.log.tick(self.now) {
            Ok(_) => true,
            Err(error) => self.judge(&error, self.log.last()),
        }
    }

    fn reserve(&mut self) -> bool {
        let before = self.log.last();
        let reserved = if self.random.chance(50) {
            self.log.reserve(RECORD_BYTES_MAX)
        } else {
            self.log.retry_reserve()
        };
        match reserved {
            Ok(()) => self.assert_unchanged(before),
            Err(error) => self.judge(&error, before),
        }
    }

    fn trim(&mut self) -> bool {
        let Some(sealed) = self.log.sealed() else {
            return true;
        };
        self.trimmed = self.trimmed.max(sealed.min(self.committed));
        let before = self.log.last();
        match self.log.trim(self.trimmed) {
            Ok(()) => self.assert_unchanged(before),
            Err(error) => self.judge(&error, before),
        }
    }

    /// A refusal changes nothing; after any other error the log accepts nothing more.
    fn judge(&mut self, error: &Error, before: Position) -> bool {
        if matches!(error, Error::NotWritten { .. }) {
            return self.assert_unchanged(before);
        }
        let again = self.log.append_copies(&[Bytes::from_static(b"late")]);
        assert!(
            again.is_err(),
            "seed {}: a failed log accepts a record after: {}",
            self.seed,
            error.chain()
        );
        false
    }

    fn assert_unchanged(&self, before: Position) -> bool {
        assert_eq!(
            self.log.last(),
            before,
            "seed {}: a position was given",
            self.seed
        );
        true
    }

    fn compare(&mut self) {
        let seed = self.seed;
        let (last, durable) = (self.log.last(), self.log.durable());
        assert_eq!(
            last.0,
            self.accepted.len() as u64,
            "seed {seed}: the last position"
        );
        assert!(
            durable <= last,
            "seed {seed}: durable beyond the last record"
        );
        assert!(durable >= self.durable, "seed {seed}: durable moved back");
        self.durable = durable;
        let asked = Position(self.random.number() % (last.0 + 1));
        match self.log.commit_status(asked) {
            CommitStatus::Committed => self.committed = self.committed.max(asked),
            CommitStatus::Pending | CommitStatus::Unknown => assert!(
                asked > self.committed,
                "seed {seed}: record {asked} was committed and is not any more"
            ),
        }
        if self.random.chance(30) {
            self.log.on_applied(self.committed);
        }
    }

    /// Closes the log and opens it again: it has every record.
    fn restart(self) -> Run<'a> {
        let Run { subject, log, .. } = self;
        subject.settle();
        let closed = log.close();
        let log = subject.open(Position(self.accepted.len() as u64));
        let run = Run {
            subject,
            log,
            ..self
        };
        let Ok(last) = closed else {
            return run.read_survivors(false);
        };
        assert_eq!(last.0, run.accepted.len() as u64, "seed {}", run.seed);
        run.read_survivors(true)
    }

    /// The machine stops: the log has at least every durable record.
    fn crash(self) -> Run<'a> {
        let Run {
            subject,
            log,
            mut random,
            ..
        } = self;
        drop(log);
        let is_crashed = subject.crash(&mut random);
        subject.settle();
        let log = subject.open(Position(self.accepted.len() as u64));
        let run = Run {
            subject,
            log,
            random,
            ..self
        };
        run.read_survivors(!is_crashed)
    }

    /// The append failed halfway, so the opened log may have the records of the last batch or none.
    fn reopen_after_failure(self) -> Run<'a> {
        let Run { subject, log, .. } = self;
        drop(log);
        subject.settle();
        let log = subject.open(Position(self.accepted.len() as u64));
        let run = Run {
            subject,
            log,
            ..self
        };
        run.read_survivors(false)
    }

    fn read_survivors(mut self, has_all: bool) -> Run<'a> {
        let seed = self.seed;
        let records = match self.subject.survivors() {
            Survivors::Nothing => return self,
            Survivors::Records(first, records) => {
                assert!(
                    first.0 <= self.trimmed.0 + 1,
                    "seed {seed}: records from {first} on, and {} was trimmed",
                    self.trimmed
                );
                let gone = usize::try_from(first.0 - 1).unwrap_or(usize::MAX);
                self.accepted[..gone]
                    .iter()
                    .cloned()
                    .chain(records)
                    .collect::<Vec<_>>()
            }
        };
        assert!(
            records.len() as u64 >= self.durable.0,
            "seed {seed}: {} records survived, {} were durable",
            records.len(),
            self.durable
        );
        let common = records.len().min(self.accepted.len());
        assert_eq!(
            records[..common],
            self.accepted[..common],
            "seed {seed}: another record"
        );
        if has_all {
            assert_eq!(
                records.len(),
                self.accepted.len(),
                "seed {seed}: a record is missing"
            );
        }
        self.committed = self.committed.min(Position(records.len() as u64));
        self.accepted = records;
        self.compare();
        self
    }

    fn accepts_again(&mut self) -> bool {
        let records = self.batch(1);
        let appended = self.log.append(&EncodedRecords(&records));
        appended.is_ok_and(|appended| appended.last == self.log.last())
    }
}
