//! The cost of a query, shown after its rows.

use std::fmt;
use std::time::Duration;

/// The sums over all pages of a query that were read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) rows: usize,
    pub(crate) pages: usize,
    pub(crate) charge: f64,
    /// The time of waiting for the server, without the time of the reader.
    pub(crate) time: Duration,
    pub(crate) has_more: bool,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let milliseconds = self.time.as_secs_f64() * 1e3;
        write!(f, "{} row{}", self.rows, plural(self.rows))?;
        write!(f, ", {:.2} RU, {milliseconds:.1} ms", self.charge)?;
        if self.pages > 1 {
            write!(f, ", {} pages", self.pages)?;
        }
        if self.has_more {
            f.write_str("; there are more rows")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_words() {
        let mut summary = Summary {
            rows: 1,
            pages: 1,
            charge: 2.829,
            time: Duration::from_micros(12_340),
            has_more: false,
        };
        assert_eq!(summary.to_string(), "1 row, 2.83 RU, 12.3 ms");
        summary.rows = 200;
        summary.pages = 2;
        summary.has_more = true;
        assert_eq!(
            summary.to_string(),
            "200 rows, 2.83 RU, 12.3 ms, 2 pages; there are more rows"
        );
    }
}
