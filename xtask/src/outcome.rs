//! What became of a step.

use std::iter::Sum;
use std::time::Duration;

/// Tests that passed and failed; a step without tests of its own counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |total, more| Self {
            passed: total.passed + more.passed,
            failed: total.failed + more.failed,
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ran(Counts),
    /// The toolchain this suite needs is not installed here.
    Missing(&'static str),
    /// There is nothing to run, or running it would test the wrong thing.
    Skipped(String),
    /// The step could not be carried out.
    Broken(String),
}

impl Outcome {
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Self::Ran(counts) => counts.failed > 0,
            Self::Broken(_) => true,
            Self::Missing(_) | Self::Skipped(_) => false,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        match self {
            Self::Ran(counts) => *counts,
            Self::Broken(_) => Counts {
                passed: 0,
                failed: 1,
            },
            Self::Missing(_) | Self::Skipped(_) => Counts::default(),
        }
    }
}

pub(crate) struct Report {
    pub(crate) title: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) elapsed: Duration,
    /// What its programs printed.
    pub(crate) output: String,
}
