//! Connections that together send at a rate, however fast they are answered.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The turns of one connection. Who is late goes on at once until the rate is kept again, so that a
/// server that falls behind is seen to.
pub(super) struct Pace {
    next: Instant,
    step: Duration,
}

impl Pace {
    /// Of the `number`-th of so many connections, from now on.
    pub(super) fn new(per_second: u32, connections: u16, number: u16) -> Pace {
        let step = Duration::from_secs(1) * u32::from(connections) / per_second;
        let first = step * u32::from(number) / u32::from(connections);
        Pace {
            next: Instant::now() + first,
            step,
        }
    }

    pub(super) async fn turn(&mut self) {
        if self.next > Instant::now() {
            sleep_until(self.next).await;
        }
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
        let mut paces = [0, 1].map(|number| Pace::new(1000, 2, number));
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
        let mut pace = Pace::new(1000, 1, 0);
        pace.next -= Duration::from_secs(1);
        let begun = Instant::now();
        for _ in 0..500 {
            pace.turn().await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
