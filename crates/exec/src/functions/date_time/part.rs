//! Date parts and arithmetic with them. Nanoseconds are the common unit, although a time has a
//! resolution of 100 nanoseconds.

use super::calendar::{DateTime, TICK_NANOSECONDS, days_of_month};

/// A part of a date or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatePart {
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

impl DatePart {
    /// The part of a name or abbreviation, in any case.
    pub(super) fn of_name(name: &str) -> Option<DatePart> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yyyy" | "yy" => DatePart::Year,
            "month" | "mm" | "m" => DatePart::Month,
            "day" | "dd" | "d" => DatePart::Day,
            "hour" | "hh" => DatePart::Hour,
            "minute" | "mi" | "n" => DatePart::Minute,
            "second" | "ss" | "s" => DatePart::Second,
            "millisecond" | "ms" => DatePart::Millisecond,
            "microsecond" | "mcs" => DatePart::Microsecond,
            "nanosecond" | "ns" => DatePart::Nanosecond,
            _ => return None,
        })
    }

    /// Nanoseconds of the part; `None` for years and months, whose lengths vary.
    fn nanoseconds(self) -> Option<i128> {
        Some(match self {
            DatePart::Year | DatePart::Month => return None,
            DatePart::Day => 86_400_000_000_000,
            DatePart::Hour => 3_600_000_000_000,
            DatePart::Minute => 60_000_000_000,
            DatePart::Second => 1_000_000_000,
            DatePart::Millisecond => 1_000_000,
            DatePart::Microsecond => 1000,
            DatePart::Nanosecond => 1,
        })
    }

    pub(super) fn of(self, moment: DateTime) -> i64 {
        let fields = moment.fields();
        match self {
            DatePart::Year => fields.year,
            DatePart::Month => fields.month,
            DatePart::Day => fields.day,
            DatePart::Hour => fields.hour,
            DatePart::Minute => fields.minute,
            DatePart::Second => fields.second,
            DatePart::Millisecond => fields.fraction / 10_000,
            DatePart::Microsecond => fields.fraction / 10,
            DatePart::Nanosecond => fields.fraction * TICK_NANOSECONDS,
        }
    }
}

/// Adds a number of parts. A day that the target month does not have becomes the month's last day.
pub(super) fn add(part: DatePart, count: i64, moment: DateTime) -> Option<DateTime> {
    match part {
        DatePart::Year => add_months(count.checked_mul(12)?, moment),
        DatePart::Month => add_months(count, moment),
        part => {
            let unit = part.nanoseconds()?;
            of_nanoseconds(nanoseconds(moment) + i128::from(count) * unit)
        }
    }
}

/// Adds months. The day is limited to the length of the target month.
fn add_months(count: i64, moment: DateTime) -> Option<DateTime> {
    let mut fields = moment.fields();
    let months = (fields.year * 12 + fields.month - 1).checked_add(count)?;
    fields.year = months.div_euclid(12);
    fields.month = months.rem_euclid(12) + 1;
    fields.day = fields.day.min(days_of_month(fields.year, fields.month));
    fields.date_time()
}

/// The number of part boundaries between two times.
pub(super) fn difference(part: DatePart, start: DateTime, end: DateTime) -> Option<i64> {
    let (from, to) = (start.fields(), end.fields());
    match part {
        DatePart::Year => Some(to.year - from.year),
        DatePart::Month => Some((to.year - from.year) * 12 + to.month - from.month),
        part => {
            let unit = part.nanoseconds()?;
            let turns = |moment| nanoseconds(moment).div_euclid(unit);
            i64::try_from(turns(end) - turns(start)).ok()
        }
    }
}

/// The start of the bin of `size` parts that contains the time; one bin starts at `origin`.
pub(super) fn bin(
    moment: DateTime,
    part: DatePart,
    size: i64,
    origin: DateTime,
) -> Option<DateTime> {
    if size <= 0 {
        return None;
    }
    let width = part.nanoseconds()? * i128::from(size);
    let origin = nanoseconds(origin);
    let bins = (nanoseconds(moment) - origin).div_euclid(width);
    of_nanoseconds(origin + bins * width)
}

fn nanoseconds(moment: DateTime) -> i128 {
    i128::from(moment.ticks()) * i128::from(TICK_NANOSECONDS)
}

/// The time at these nanoseconds, rounded down to ticks.
fn of_nanoseconds(nanoseconds: i128) -> Option<DateTime> {
    DateTime::of_ticks(nanoseconds.div_euclid(i128::from(TICK_NANOSECONDS)))
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
            let sum = add(
                DatePart::of_name(part).unwrap(),
                count,
                parse(from).unwrap(),
            );
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
            let part = DatePart::of_name(part).unwrap();
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
        let begin = bin(moment, DatePart::Hour, 5, origin).map(print);
        assert_eq!(begin.as_deref(), Some("1969-12-31T19:00:00.0000000Z"));
        assert_eq!(bin(moment, DatePart::Hour, 0, origin), None);
        assert_eq!(bin(moment, DatePart::Month, 1, origin), None);
    }
}
