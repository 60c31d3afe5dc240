//! The part of the [check](crate::check) that verifies the log, and that log and state belong
//! together.

use orrery_log::{DurableWatermark, Position, SystemDisk, VerifyReport, WatermarkReading};

use crate::Error;
use crate::check::Check;
use crate::counters::APPLIED_KEY;
use crate::data_directory::DataDirectory;
use crate::keyspaces::META;
use crate::replay::position_of;

impl Check {
    pub(crate) fn log(&mut self, directory: &DataDirectory, log: &VerifyReport) {
        for problem in &log.problems {
            let (segment, offset) = (problem.segment.display(), problem.offset);
            self.problem(format!("{segment} at byte {offset}: {}", problem.what));
        }
        self.report.log_segments = log.segments;
        self.report.log_records = log.records;
        self.report.log_last = log.last;
        let path = directory.watermark_path();
        match DurableWatermark::read(&SystemDisk, &path) {
            Ok(WatermarkReading::Durable(marked)) => self.report.watermark = marked,
            Ok(WatermarkReading::Absent) => {}
            Ok(WatermarkReading::Damaged) => self.problem(format!(
                "{} is damaged: how far the log was durable is not known. The next start writes it anew",
                path.display()
            )),
            Err(error) => self.problem(Error::from(error).chain()),
        }
        let applied = self.snapshot.get(META, APPLIED_KEY).map_err(Error::from);
        match applied.and_then(position_of) {
            Ok(applied) => self.report.applied = applied,
            Err(error) => self.problem(format!(
                "how far the state is cannot be read: {}",
                error.chain()
            )),
        }
        self.positions(log);
    }

    fn positions(&mut self, log: &VerifyReport) {
        let (applied, marked, last) = (self.report.applied, self.report.watermark, log.last);
        // A log that was created after a state ends at the position of that state, even without
        // records. Without any segment its end is zero.
        let last = if log.segments == 0 {
            Position::ZERO
        } else {
            last
        };
        if marked > last {
            self.problem(format!(
                "the log ends at record {last}, but record {marked} was durable in it: its end is lost"
            ));
        } else if applied > last {
            self.problem(format!(
                "the log ends at record {last}, but the state has record {applied}: the end of the log is lost, unless \
                 the store ran with a durability other than sync when the power failed"
            ));
        }
        // Replay needs every record after the applied position.
        if applied.0 + 1 < log.first.0 {
            self.problem(format!(
                "the log begins at record {}, but the state ends at record {applied}: what is between them is lost",
                log.first
            ));
        }
    }
}
