//! Converts ticks to date fields and back, in the proleptic Gregorian calendar.
//!
//! The arithmetic counts years from March, so that the leap day is the last day of the year and
//! every month begins a fixed number of days after the start of the year.

/// Ticks of 100 nanoseconds since 1970, within the years that the text form can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct DateTime {
    ticks: i64,
}

/// The date and time fields; `fraction` counts ticks within the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DateFields {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) fraction: i64,
}

pub(super) const TICK_NANOSECONDS: i64 = 100;
pub(super) const MILLISECOND_TICKS: i64 = 10_000;
const SECOND_TICKS: i64 = 10_000_000;
const DAY_TICKS: i64 = 86_400 * SECOND_TICKS;

/// The first tick of the year 1601, and the last tick of year 9999.
const TICKS_MIN: i64 = -116_444_736_000_000_000;
const TICKS_MAX: i64 = 2_534_023_007_999_999_999;

/// The Gregorian calendar repeats after 400 years.
const CYCLE_YEARS: i64 = 400;
const CYCLE_DAYS: i64 = 146_097;
/// Days from March 1 of year 0 to January 1, 1970.
const EPOCH_DAYS: i64 = 719_468;

impl DateTime {
    /// The time at these ticks; `None` outside of the years 1601 to 9999.
    pub(in super::super) fn of_ticks(ticks: impl Into<i128>) -> Option<DateTime> {
        let ticks = i64::try_from(ticks.into()).ok()?;
        (TICKS_MIN..=TICKS_MAX)
            .contains(&ticks)
            .then_some(DateTime { ticks })
    }

    pub(super) fn ticks(self) -> i64 {
        self.ticks
    }

    /// Milliseconds since 1970, rounded down.
    pub(super) fn milliseconds(self) -> i64 {
        self.ticks.div_euclid(MILLISECOND_TICKS)
    }

    /// The day of the week, from 0 for Sunday.
    pub(super) fn weekday(self) -> i64 {
        // The first of January 1970 was a Thursday.
        (self.ticks.div_euclid(DAY_TICKS) + 4).rem_euclid(7)
    }

    /// Splits the ticks into fields. Euclidean division also serves times before 1970.
    pub(super) fn fields(self) -> DateFields {
        let (year, month, day) = date_of_days(self.ticks.div_euclid(DAY_TICKS));
        let time = self.ticks.rem_euclid(DAY_TICKS);
        let seconds = time / SECOND_TICKS;
        DateFields {
            year,
            month,
            day,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction: time % SECOND_TICKS,
        }
    }
}

impl DateFields {
    /// `None` when a field is out of range.
    pub(super) fn date_time(&self) -> Option<DateTime> {
        let valid = (1..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=days_of_month(self.year, self.month)).contains(&self.day)
            && (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second)
            && (0..SECOND_TICKS).contains(&self.fraction);
        if !valid {
            return None;
        }
        let days = days_of_date(self.year, self.month, self.day);
        let seconds = (self.hour * 60 + self.minute) * 60 + self.second;
        DateTime::of_ticks(days * DAY_TICKS + seconds * SECOND_TICKS + self.fraction)
    }
}

pub(super) fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % CYCLE_YEARS == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from January 1, 1970 to a date.
fn days_of_date(year: i64, month: i64, day: i64) -> i64 {
    let months_from_march = (month + 9) % 12;
    let year = year - i64::from(month <= 2);
    let cycle = year.div_euclid(CYCLE_YEARS);
    let year_of_cycle = year.rem_euclid(CYCLE_YEARS);
    let day_of_year = (153 * months_from_march + 2) / 5 + day - 1;
    let leap_days = year_of_cycle / 4 - year_of_cycle / 100;
    cycle * CYCLE_DAYS + year_of_cycle * 365 + leap_days + day_of_year - EPOCH_DAYS
}

/// The date of a number of days since January 1, 1970; the inverse of [`days_of_date`].
fn date_of_days(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let cycle = days.div_euclid(CYCLE_DAYS);
    let day_of_cycle = days.rem_euclid(CYCLE_DAYS);
    let leap_days = day_of_cycle / 1460 - day_of_cycle / 36_524 + day_of_cycle / 146_096;
    let year_of_cycle = (day_of_cycle - leap_days) / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let months_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_from_march + 2) / 5 + 1;
    let month = (months_from_march + 2) % 12 + 1;
    let year = cycle * CYCLE_YEARS + year_of_cycle + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_calendar_follows_the_one_before() {
        let mut expected = (1601, 1, 1);
        for days in TICKS_MIN / DAY_TICKS..=TICKS_MAX.div_euclid(DAY_TICKS) {
            let (year, month, day) = date_of_days(days);
            assert_eq!((year, month, day), expected);
            assert_eq!(days_of_date(year, month, day), days);
            expected = if day < days_of_month(year, month) {
                (year, month, day + 1)
            } else if month < 12 {
                (year, month + 1, 1)
            } else {
                (year + 1, 1, 1)
            };
        }
        assert_eq!(expected, (10_000, 1, 1));
    }

    #[test]
    fn the_range_is_what_text_can_express() {
        let first = DateTime::of_ticks(TICKS_MIN).unwrap().fields();
        assert_eq!((first.year, first.month, first.day), (1601, 1, 1));
        let last = DateTime::of_ticks(TICKS_MAX).unwrap().fields();
        assert_eq!(
            (last.year, last.second, last.fraction),
            (9999, 59, 9_999_999)
        );
        assert_eq!(DateTime::of_ticks(TICKS_MIN - 1), None);
        assert_eq!(DateTime::of_ticks(TICKS_MAX + 1), None);
    }
}
