//! The text form of times: `2020-07-03T13:00:00.0000000Z`.

use super::calendar::{DateFields, DateTime};

/// Parses a date, alone or with a time after `T` or a space; up to seven fraction digits; then
/// optionally `Z` or an offset, which is converted.
pub(in super::super) fn parse(text: &str) -> Option<DateTime> {
    let (text, offset) = match text.strip_suffix('Z') {
        Some(text) => (text, 0),
        None => without_offset(text)?,
    };
    let moment = parse_local(text)?;
    DateTime::of_ticks(moment.ticks() - offset * MINUTE_TICKS)
}

/// Splits `+02:00`, `+0200` or `+02` from a time. The offset is in minutes.
fn without_offset(text: &str) -> Option<(&str, i64)> {
    // A date has its own hyphens, so an offset follows a time only.
    let Some(at) = text.get(TIME_AT..).and_then(|time| time.find(['+', '-'])) else {
        return Some((text, 0));
    };
    let (time, offset) = text.split_at(TIME_AT + at);
    let digits = &offset.as_bytes()[1..];
    let (hours, minutes) = match digits {
        [hours @ .., b':', m1, m2] => (hours, value(&[*m1, *m2])?),
        [h1, h2, m1, m2] => (&[*h1, *h2][..], value(&[*m1, *m2])?),
        hours => (hours, 0),
    };
    let hours = (hours.len() == 2).then(|| value(hours))??;
    let offset_minutes = hours * 60 + minutes;
    if minutes > 59 || offset_minutes > OFFSET_MINUTES_MAX {
        return None;
    }
    Some((
        time,
        if offset.starts_with('-') {
            -offset_minutes
        } else {
            offset_minutes
        },
    ))
}

/// The bytes of a date and its separator.
const TIME_AT: usize = 11;
const MINUTE_TICKS: i64 = 600_000_000;
/// Largest distance from UTC: 14 hours.
const OFFSET_MINUTES_MAX: i64 = 14 * 60;

/// Parses the date and time without what follows them.
fn parse_local(text: &str) -> Option<DateTime> {
    let mut rest = text.as_bytes();
    let year = number(&mut rest, 4)?;
    let month = number(after(&mut rest, b"-")?, 2)?;
    let day = number(after(&mut rest, b"-")?, 2)?;
    let mut fields = DateFields {
        year,
        month,
        day,
        hour: 0,
        minute: 0,
        second: 0,
        fraction: 0,
    };
    if !rest.is_empty() {
        fields.hour = number(after(&mut rest, b"T ")?, 2)?;
        fields.minute = number(after(&mut rest, b":")?, 2)?;
        fields.second = number(after(&mut rest, b":")?, 2)?;
    }
    if !rest.is_empty() {
        fields.fraction = fraction(after(&mut rest, b".")?)?;
    }
    fields.date_time()
}

pub(super) fn print(moment: DateTime) -> String {
    let DateFields {
        year,
        month,
        day,
        hour,
        minute,
        second,
        fraction,
    } = moment.fields();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z")
}

/// Consumes one of the expected characters.
fn after<'r, 'a>(rest: &'r mut &'a [u8], expected: &[u8]) -> Option<&'r mut &'a [u8]> {
    let (first, after) = rest.split_first()?;
    if !expected.contains(first) {
        return None;
    }
    *rest = after;
    Some(rest)
}

fn number(rest: &mut &[u8], digits: usize) -> Option<i64> {
    let (number, after) = rest.split_at_checked(digits)?;
    *rest = after;
    value(number)
}

/// Parses the remaining digits as a fraction of a second, in ticks.
fn fraction(rest: &[u8]) -> Option<i64> {
    let scale = [1_000_000, 100_000, 10_000, 1000, 100, 10, 1];
    let scale = scale.get(rest.len().checked_sub(1)?)?;
    Some(value(rest)? * scale)
}

fn value(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, digit| {
        digit
            .is_ascii_digit()
            .then(|| value * 10 + i64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_date_texts() {
        for (text, printed) in [
            ("2020-07-03", Some("2020-07-03T00:00:00.0000000Z")),
            ("2020-07-03Z", Some("2020-07-03T00:00:00.0000000Z")),
            ("2020-07-03 01:02:03", Some("2020-07-03T01:02:03.0000000Z")),
            ("2020-07-03T01:02:03Z", Some("2020-07-03T01:02:03.0000000Z")),
            (
                "2020-07-03T01:02:03.4",
                Some("2020-07-03T01:02:03.4000000Z"),
            ),
            (
                "2020-07-03T01:02:03.1234567Z",
                Some("2020-07-03T01:02:03.1234567Z"),
            ),
            ("1601-01-01", Some("1601-01-01T00:00:00.0000000Z")),
            ("1600-12-31", None),
            ("2020-02-29", Some("2020-02-29T00:00:00.0000000Z")),
            ("2100-02-29", None),
            ("0000-01-01", None),
            ("2020-13-01", None),
            ("2020-7-3", None),
            ("2020-07-03T", None),
            ("2020-07-03T01", None),
            ("2020-07-03T01:02", None),
            ("2020-07-03T24:00:00", None),
            ("2020-07-03T01:02:60", None),
            ("2020-07-03T01:02:03.", None),
            ("2020-07-03T01:02:03.12345678", None),
            (
                "2020-07-03T01:02:03+01:00",
                Some("2020-07-03T00:02:03.0000000Z"),
            ),
            (
                "2020-07-03T01:02:03.5-0230",
                Some("2020-07-03T03:32:03.5000000Z"),
            ),
            ("2020-07-03T01:02:03+14:01", None),
            ("2020-07-03T01:02:03+1", None),
            ("2020-07-03T01:02:03ZZ", None),
            ("２020-07-03", None),
            ("", None),
        ] {
            assert_eq!(parse(text).map(print).as_deref(), printed, "{text}");
        }
    }
}
