//! Dates in the form of HTTP: `Sun, 15 Nov 2026 06:00:00 GMT`.

use std::fmt;

/// Weekday names. The first one is the weekday of 1 January 1970.
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY_SECONDS: u64 = 86_400;

/// Seconds since 1970, parsed from and printed as RFC 1123.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpDate(pub u64);

impl HttpDate {
    /// Parses a date of 1970 or later. The name of the weekday is not checked.
    pub fn parse(text: &str) -> Option<HttpDate> {
        // The weekday follows from the date, so it is skipped.
        let (_, rest) = text.trim().split_once(", ")?;
        let mut words = rest.split(' ');
        let day: u64 = number(words.next()?, 2)?;
        let month_name = words.next()?;
        let month = MONTHS
            .iter()
            .position(|name| name.eq_ignore_ascii_case(month_name))?;
        let year: u64 = number(words.next()?, 4)?;
        let mut clock = words.next()?.splitn(3, ':');
        let hour = number(clock.next()?, 2)?;
        let minute = number(clock.next()?, 2)?;
        let second = number(clock.next()?, 2)?;
        let zone = words.next()?;
        // The Go SDK writes the start time of a change feed with the zone UTC.
        let is_universal = ["gmt", "utc"]
            .iter()
            .any(|name| zone.eq_ignore_ascii_case(name));
        let valid = is_universal
            && words.next().is_none()
            && year >= 1970
            && (1..=month_days(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            // A leap second is written as second 60.
            && second <= 60;
        if !valid {
            return None;
        }
        let days = days_before_year(year)
            + (0..month).map(|month| month_days(year, month)).sum::<u64>()
            + day
            - 1;
        Some(HttpDate(
            days * DAY_SECONDS + hour * 3_600 + minute * 60 + second,
        ))
    }
}

impl fmt::Display for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, clock) = (self.0 / DAY_SECONDS, self.0 % DAY_SECONDS);
        // A lower estimate of the year, which the loop corrects.
        let mut year = 1970 + days / 366;
        while days_before_year(year + 1) <= days {
            year += 1;
        }
        let mut day = days - days_before_year(year);
        let mut month = 0;
        while day >= month_days(year, month) {
            day -= month_days(year, month);
            month += 1;
        }
        let weekday = DAYS[(days % 7) as usize];
        let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
        let (day, month) = (day + 1, MONTHS[month]);
        write!(
            f,
            "{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT"
        )
    }
}

/// A number with exactly this many digits.
fn number(text: &str, digits: usize) -> Option<u64> {
    // The number of digits is fixed; `parse` alone would accept a plus sign.
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Returns whether a year of the Gregorian calendar has 366 days.
fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// The days of a month, which counts from zero.
fn month_days(year: u64, month: usize) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// The days from the start of 1970 to the start of `year`.
fn days_before_year(year: u64) -> u64 {
    let leap_days = |year: u64| (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    (year - 1970) * 365 + leap_days(year) - leap_days(1970)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_and_write() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 27 Apr 2017 00:51:12 GMT", 1_493_254_272),
            ("Sun, 15 Nov 2026 06:00:00 GMT", 1_794_722_400),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Tue, 31 Dec 2024 00:00:00 GMT", 1_735_603_200),
        ] {
            assert_eq!(HttpDate::parse(text), Some(HttpDate(seconds)), "{text}");
            assert_eq!(
                HttpDate::parse(&text.to_lowercase()),
                Some(HttpDate(seconds)),
                "{text}"
            );
            let utc = text.replace("GMT", "UTC");
            assert_eq!(HttpDate::parse(&utc), Some(HttpDate(seconds)), "{utc}");
            assert_eq!(HttpDate(seconds).to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_date_is_refused() {
        for text in [
            "",
            "Thu",
            "Thu, 29 Feb 2023 00:00:00 GMT",
            "Thu, 01 Jan 1969 00:00:00 GMT",
            "Thu, 01 Jan 1970 24:00:00 GMT",
            "Thu, 01 Jan 1970 00:00:00 CET",
            "Thu, 01 Jan 1970 00:00:00 GMT x",
            "1970-01-01T00:00:00Z",
        ] {
            assert_eq!(HttpDate::parse(text), None, "{text}");
        }
    }
}
