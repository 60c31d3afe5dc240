//! Connections that together send at a fixed rate, however fast the server answers.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The send times of one connection. A late connection sends at once until it has caught up with
/// its schedule, so that a server that falls behind shows in the latencies.
pub(super) struct SendSchedule {
    next: Instant,
    step: Duration,
}

impl SendSchedule {
    /// The schedule of the `number`-th of `connections` connections. The schedule starts
    /// immediately, and the connections send in turn.
    pub(super) fn new(per_second: u32, connections: u16, number: u16) -> SendSchedule {
        let step = Duration::from_secs(1) * u32::from(connections) / per_second;
        // The connections start spread over one step, so that they do not send in bursts.
        let first = step * u32::from(number) / u32::from(connections);
        SendSchedule {
            next: Instant::now() + first,
            step,
        }
    }

    pub(super) async fn turn(&mut self) {
        if self.next > Instant::now() {
            sleep_until(self.next).await;
        }
        // From the planned time and not from now, so that a late request does not lower the rate.
        self.next += self.step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn together_they_keep_the_rate() {
        let begun = Instant::now();
        let mut turns = 0;
        let mut paces = [0, 1].map(|number| SendSchedule::new(1000, 2, number));
        while begun.elapsed() < Duration::from_millis(50) {
            for pace in &mut paces {
                pace.turn().await;
                turns += 1;
            }
        }
        let expected = begun.elapsed().as_millis();
        assert!(
            (expected - expected / 2..=expected + 2).contains(&turns),
            "{turns} of {expected}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_missed_is_made_up_for() {
        let mut pace = SendSchedule::new(1000, 1, 0);
        pace.next -= Duration::from_secs(1);
        let begun = Instant::now();
        for _ in 0..500 {
            pace.turn().await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
