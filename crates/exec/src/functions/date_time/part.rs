//! The parts of a moment, and arithmetic in them. Nanoseconds are the common measure, although a
//! moment keeps only hundreds of them.

use super::calendar::{Moment, TICK_NANOSECONDS, days_of_month};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl Part {
    pub(super) fn of_name(name: &str) -> Option<Part> {
        Some(match name {
            "year" | "yyyy" | "yy" => Part::Year,
            "month" | "mm" | "m" => Part::Month,
            "day" | "dd" | "d" => Part::Day,
            "hour" | "hh" => Part::Hour,
            "minute" | "mi" | "n" => Part::Minute,
            "second" | "ss" | "s" => Part::Second,
            "millisecond" | "ms" => Part::Millisecond,
            "microsecond" | "mcs" => Part::Microsecond,
            "nanosecond" | "ns" => Part::Nanosecond,
            _ => return None,
        })
    }

    /// None for years and months, which differ.
    fn nanoseconds(self) -> Option<i128> {
        Some(match self {
            Part::Year | Part::Month => return None,
            Part::Day => 86_400_000_000_000,
            Part::Hour => 3_600_000_000_000,
            Part::Minute => 60_000_000_000,
            Part::Second => 1_000_000_000,
            Part::Millisecond => 1_000_000,
            Part::Microsecond => 1000,
            Part::Nanosecond => 1,
        })
    }

    pub(super) fn of(self, moment: Moment) -> i64 {
        let fields = moment.fields();
        match self {
            Part::Year => fields.year,
            Part::Month => fields.month,
            Part::Day => fields.day,
            Part::Hour => fields.hour,
            Part::Minute => fields.minute,
            Part::Second => fields.second,
            Part::Millisecond => fields.fraction / 10_000,
            Part::Microsecond => fields.fraction / 10,
            Part::Nanosecond => fields.fraction * TICK_NANOSECONDS,
        }
    }
}

/// A day that the month does not have becomes its last.
pub(super) fn add(part: Part, count: i64, moment: Moment) -> Option<Moment> {
    match part {
        Part::Year => add_months(count.checked_mul(12)?, moment),
        Part::Month => add_months(count, moment),
        part => {
            let unit = part.nanoseconds()?;
            of_nanoseconds(nanoseconds(moment) + i128::from(count) * unit)
        }
    }
}

fn add_months(count: i64, moment: Moment) -> Option<Moment> {
    let mut fields = moment.fields();
    let months = (fields.year * 12 + fields.month - 1).checked_add(count)?;
    fields.year = months.div_euclid(12);
    fields.month = months.rem_euclid(12) + 1;
    fields.day = fields.day.min(days_of_month(fields.year, fields.month));
    fields.moment()
}

/// How many times the part turns over between two moments.
pub(super) fn difference(part: Part, start: Moment, end: Moment) -> Option<i64> {
    let (from, to) = (start.fields(), end.fields());
    match part {
        Part::Year => Some(to.year - from.year),
        Part::Month => Some((to.year - from.year) * 12 + to.month - from.month),
        part => {
            let unit = part.nanoseconds()?;
            let turns = |moment| nanoseconds(moment).div_euclid(unit);
            i64::try_from(turns(end) - turns(start)).ok()
        }
    }
}

/// The beginning of the bin of `size` parts that holds the moment; one bin begins at `origin`.
pub(super) fn bin(moment: Moment, part: Part, size: i64, origin: Moment) -> Option<Moment> {
    if size <= 0 {
        return None;
    }
    let width = part.nanoseconds()? * i128::from(size);
    let origin = nanoseconds(origin);
    let bins = (nanoseconds(moment) - origin).div_euclid(width);
    of_nanoseconds(origin + bins * width)
}

fn nanoseconds(moment: Moment) -> i128 {
    i128::from(moment.ticks()) * i128::from(TICK_NANOSECONDS)
}

fn of_nanoseconds(nanoseconds: i128) -> Option<Moment> {
    Moment::of_ticks(nanoseconds.div_euclid(i128::from(TICK_NANOSECONDS)))
}

#[cfg(test)]
mod tests {
    use super::super::text::{parse, print};
    use super::*;

    #[test]
    fn additions() {
        for (part, count, from, expected) in [
            (
                "month",
                1,
                "2020-01-31",
                Some("2020-02-29T00:00:00.0000000Z"),
            ),
            (
                "yyyy",
                -1,
                "2020-02-29",
                Some("2019-02-28T00:00:00.0000000Z"),
            ),
            ("m", -13, "2020-01-01", Some("2018-12-01T00:00:00.0000000Z")),
            (
                "ns",
                250,
                "2020-01-01",
                Some("2020-01-01T00:00:00.0000002Z"),
            ),
            (
                "mcs",
                -1,
                "2020-01-01",
                Some("2019-12-31T23:59:59.9999990Z"),
            ),
            ("year", 8000, "2020-01-01", None),
            ("yy", i64::MIN, "2020-01-01", None),
            ("dd", i64::MAX, "2020-01-01", None),
        ] {
            let sum = add(Part::of_name(part).unwrap(), count, parse(from).unwrap());
            assert_eq!(
                sum.map(print).as_deref(),
                expected,
                "{from} + {count} {part}"
            );
        }
    }

    #[test]
    fn differences_count_boundaries() {
        for (part, start, end, expected) in [
            ("year", "2019-12-31T23:59:59", "2020-01-01", 1),
            ("dd", "2020-01-01T23:59:59", "2020-01-02", 1),
            ("dd", "1969-12-31T12:00:00", "1970-01-01T12:00:00", 1),
            ("hh", "2020-01-01T00:59:59", "2020-01-01T00:00:00", 0),
            ("ns", "2020-01-01", "2020-01-01T00:00:01", 1_000_000_000),
        ] {
            let part = Part::of_name(part).unwrap();
            let (start, end) = (parse(start).unwrap(), parse(end).unwrap());
            assert_eq!(difference(part, start, end), Some(expected), "{part:?}");
        }
    }

    #[test]
    fn bins_before_their_origin() {
        let (moment, origin) = (
            parse("1969-12-31T23:00:00").unwrap(),
            parse("1970-01-01").unwrap(),
        );
        let begin = bin(moment, Part::Hour, 5, origin).map(print);
        assert_eq!(begin.as_deref(), Some("1969-12-31T19:00:00.0000000Z"));
        assert_eq!(bin(moment, Part::Hour, 0, origin), None);
        assert_eq!(bin(moment, Part::Month, 1, origin), None);
    }
}
