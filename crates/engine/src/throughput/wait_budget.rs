//! The wait budget of a bulk request, and the retry hints of its refused operations.
//!
//! Client libraries retry refused operations in three ways: JavaScript sleeps each retry hint in
//! sequence, Java waits for all hints at the same time, and .NET retries at once. Every library
//! stops after about ten attempts. The only pace that all of them respect is the response itself,
//! so the server responds to a bulk request when its operations are done or its wait budget is
//! spent.

use std::time::Duration;

use orrery_model::{ChargedResult, Failure};

/// Delay of a bulk request after the start of a new second, so that single requests with the same
/// retry hint find budget first.
const BEHIND_OTHERS: Duration = Duration::from_millis(20);

/// The remaining wait time that the operations of one bulk request share.
pub(crate) struct WaitBudget {
    left: Duration,
}

impl WaitBudget {
    pub(crate) fn new(whole: Duration) -> WaitBudget {
        WaitBudget { left: whole }
    }

    /// The pause before the next attempt of a refused operation; `None` if it should not be
    /// retried.
    pub(crate) fn wait(&mut self, refusal: &mut Failure) -> Option<Duration> {
        let retry_after_ms = retry_after(refusal)?;
        let wait = Duration::from_millis(*retry_after_ms) + BEHIND_OTHERS;
        let wait = wait.min(self.left);
        self.left -= wait;
        (!wait.is_zero()).then_some(wait)
    }
}

/// Reduces the retry hints of refused operations so that their sum is the longest hint, for clients
/// that sleep the hints in sequence.
pub(crate) fn add_up_waits<T>(answers: &mut [ChargedResult<T>]) {
    let mut told_ms = 0;
    for answer in answers {
        let Err(failure) = &mut answer.result else {
            continue;
        };
        if let Some(retry_after_ms) = retry_after(failure) {
            let wait_ms = retry_after_ms.saturating_sub(told_ms).max(1);
            told_ms += wait_ms;
            *retry_after_ms = wait_ms;
        }
    }
}

/// The retry hint of a refusal, if the refusal is about throughput.
fn retry_after(failure: &mut Failure) -> Option<&mut u64> {
    match failure {
        Failure::TooManyRequests { retry_after_ms }
        | Failure::BucketExceeded { retry_after_ms } => Some(retry_after_ms),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(retry_after_ms: u64) -> ChargedResult<()> {
        ChargedResult::refused(Failure::TooManyRequests { retry_after_ms })
    }

    #[test]
    fn waits_add_up_to_the_longest() {
        let mut answers = [
            refused(400),
            ChargedResult::refused(Failure::NOT_FOUND),
            refused(400),
            refused(1_400),
            refused(900),
        ];
        add_up_waits(&mut answers);
        let waits: Vec<_> = answers
            .iter_mut()
            .filter_map(|answer| retry_after(answer.result.as_mut().err()?).copied())
            .collect();
        assert_eq!(waits, [400, 1, 999, 1]);
    }

    #[test]
    fn a_request_waits_until_its_patience_is_at_an_end() {
        let mut wait_budget = WaitBudget::new(Duration::from_secs(1));
        let mut refusal = Failure::TooManyRequests {
            retry_after_ms: 700,
        };
        assert_eq!(wait_budget.wait(&mut Failure::NOT_FOUND.clone()), None);
        for expected in [Some(720), Some(280), None] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(wait_budget.wait(&mut refusal), expected);
        }
    }
}
