//! The outcome of a step.

use std::iter::Sum;
use std::time::Duration;

/// Passed and failed tests. A step without tests of its own counts as one test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Sum for TestCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |total, more| Self {
            passed: total.passed + more.passed,
            failed: total.failed + more.failed,
        })
    }
}

/// The result of a step. Only some results are failures.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ran(TestCounts),
    /// The toolchain of this suite is not installed.
    Missing(&'static str),
    /// The suite does not exist, or it would test an outdated server.
    Skipped(String),
    /// The step failed before it had a result.
    Broken(String),
}

impl Outcome {
    /// A missing toolchain is no failure: a developer need not install every SDK.
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Self::Ran(counts) => counts.failed > 0,
            Self::Broken(_) => true,
            Self::Missing(_) | Self::Skipped(_) => false,
        }
    }

    pub(crate) fn counts(&self) -> TestCounts {
        match self {
            Self::Ran(counts) => *counts,
            Self::Broken(_) => TestCounts {
                passed: 0,
                failed: 1,
            },
            Self::Missing(_) | Self::Skipped(_) => TestCounts::default(),
        }
    }
}

/// A step that has ended.
pub(crate) struct Report {
    pub(crate) title: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) elapsed: Duration,
    /// The output of the programs of the step.
    pub(crate) output: String,
}
