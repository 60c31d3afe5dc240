//! Request dates, formatted once a second.

use std::time::{SystemTime, UNIX_EPOCH};

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const SECONDS_PER_DAY: u64 = 86_400;

/// The current second as the `x-ms-date` header carries it, and as a signature covers it.
#[derive(Default)]
pub struct RequestDate {
    second: u64,
    header: String,
    lower_case: String,
}

impl RequestDate {
    pub fn refresh(&mut self) {
        let second = unix_seconds();
        if second != self.second {
            self.second = second;
            self.header = rfc1123(second);
            self.lower_case = self.header.to_ascii_lowercase();
        }
    }

    pub fn header(&self) -> &str {
        &self.header
    }

    pub fn lower_case(&self) -> &str {
        &self.lower_case
    }
}

pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs())
}

fn rfc1123(second: u64) -> String {
    let (days, in_day) = (second / SECONDS_PER_DAY, second % SECONDS_PER_DAY);
    let (year, month, day) = civil(days);
    let weekday = WEEKDAYS[(days % 7) as usize];
    let month = MONTHS[month];
    let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Year, month from 0 and day from 1 of a day counted from the epoch.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let cases = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_493_254_272, "Thu, 27 Apr 2017 00:51:12 GMT"),
            (1_794_722_400, "Sun, 15 Nov 2026 06:00:00 GMT"),
            (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"),
        ];
        for (second, expected) in cases {
            assert_eq!(rfc1123(second), expected);
        }
    }
}
