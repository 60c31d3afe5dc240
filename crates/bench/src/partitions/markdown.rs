//! The report as a Markdown document.

use std::fmt::{Display, Formatter, Result};

use super::report::{BigReport, LatencyReport, PairReport, PartitionsReport};
use crate::markdown::{heading, opening, row, targets};
use crate::resident::megabytes;

impl Display for PartitionsReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        opening(f, self.date.as_deref(), &self.command_line, &self.machine)?;
        writeln!(f, "- server: {}, TLS off", self.settings)?;
        writeln!(
            f,
            "- items of {} bytes, rounds: {}, sides in turns",
            self.value_bytes, self.rounds
        )?;
        targets(f, "Partitions: targets", &self.targets)?;
        self.big(f)?;
        self.repartitioning(f)?;
        self.rates(f)?;
        self.throttle(f)
    }
}

impl PartitionsReport {
    /// The table of operations on a large partition.
    fn big(&self, f: &mut Formatter<'_>) -> Result {
        let BigReport {
            items,
            bytes,
            feed_one_per_second,
            feed_two_per_second,
            split_ms,
            split_ms_max,
            count_ms,
            merge_ms,
            merge_ms_max,
        } = self.big;
        let size = megabytes(Some(bytes));
        let title = format!("A partition of {items} items, {size}");
        heading(f, &title, &["", "Median", "Max"])?;
        for (name, figure, max) in [
            (
                "change feed, one range",
                per_second(feed_one_per_second),
                String::new(),
            ),
            (
                "change feed, two ranges",
                per_second(feed_two_per_second),
                String::new(),
            ),
            ("split", ms(split_ms), ms(split_ms_max)),
            ("counting the parts", ms(count_ms), String::new()),
            ("merge", ms(merge_ms), ms(merge_ms_max)),
        ] {
            row(f, &[name, &figure, &max])?;
        }
        Ok(())
    }

    /// Latencies with and without splits.
    fn repartitioning(&self, f: &mut Formatter<'_>) -> Result {
        let repartitioning = &self.repartitioning;
        let connections = repartitioning.connections;
        let title = format!("Reads and upserts on {connections} connections beside splits");
        let columns = ["", "ops/s", "p50 us", "p99 us", "p99.9 us", "max us"];
        heading(f, &title, &columns)?;
        let moving = format!(
            "{} splits and {} merges, slowest {}",
            repartitioning.splits,
            repartitioning.merges,
            ms(repartitioning.slowest_ms)
        );
        for (name, side) in [
            ("none", repartitioning.quiet),
            (&moving, repartitioning.moving),
        ] {
            let LatencyReport {
                per_second,
                p50_us,
                p99_us,
                p999_us,
                max_us,
            } = side;
            let figures = [per_second, p50_us, p99_us, p999_us, max_us];
            let figures = figures.map(|figure| format!("{figure:.0}"));
            let cells: Vec<_> = std::iter::once(name.to_owned()).chain(figures).collect();
            row(f, &cells)?;
        }
        Ok(())
    }

    /// The table of rates with and without budgets and many keys.
    fn rates(&self, f: &mut Formatter<'_>) -> Result {
        let (keys, budgets) = (&self.keys, &self.budgets);
        let title = format!("Rates on {} connections", budgets.connections);
        heading(f, &title, &["", "With", "Without", "Ratio", "Rounds"])?;
        let sides = format!("{} keys, not {}", keys.keys, keys.few_keys);
        for (name, pair) in [
            (
                "point reads, charged to a budget".to_owned(),
                &budgets.reads,
            ),
            (format!("point reads, {sides}"), &keys.reads),
            (format!("queries of one item, {sides}"), &keys.queries),
            (format!("creates, {sides}"), &keys.creates),
        ] {
            let PairReport {
                per_second: with,
                other_per_second: without,
                ratio,
                ratios,
            } = pair;
            let rounds: Vec<_> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
            let ratio = format!("{ratio:.3}");
            let rates = [*with, *without].map(per_second);
            row(
                f,
                &[&name, &rates[0], &rates[1], &ratio, &rounds.join(", ")],
            )?;
        }
        Ok(())
    }

    /// The sentence about the use of a budget.
    fn throttle(&self, f: &mut Formatter<'_>) -> Result {
        let throttle = &self.throttle;
        writeln!(
            f,
            "\nOf a budget of {} RU/s, {} connections got {:.0} RU in {:.0} s, {:.3} of it: {} requests were let in and {} \
             refused.",
            throttle.budget,
            throttle.connections,
            throttle.charge,
            throttle.seconds,
            throttle.used,
            throttle.admitted,
            throttle.refused
        )
    }
}

fn per_second(rate: f64) -> String {
    format!("{rate:.0}/s")
}

fn ms(milliseconds: f64) -> String {
    format!("{milliseconds:.1} ms")
}
