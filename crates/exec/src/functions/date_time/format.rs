//! `DATETIMEFORMAT`: repeated letters select a field and its width; other characters are copied.

use std::fmt::Write;

use super::calendar::{DateFields, DateTime};

/// Returns `None` for a letter with an invalid repetition.
pub(super) fn format(moment: DateTime, pattern: &str) -> Option<String> {
    let fields = moment.fields();
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    while let Some(letter) = rest.next() {
        // A backslash copies the next character literally.
        if letter == '\\' {
            text.extend(rest.next());
            continue;
        }
        if !"yMdHhmsfFt".contains(letter) {
            text.push(letter);
            continue;
        }
        let mut width = 1;
        while rest.next_if_eq(&letter).is_some() {
            width += 1;
        }
        if letter == 't' {
            write_half(&mut text, fields.hour, width);
            continue;
        }
        write_field(&mut text, &fields, letter, width)?;
    }
    Some(text)
}

/// Writes one field; returns `None` if the letter is repeated too often.
fn write_field(text: &mut String, fields: &DateFields, letter: char, width: usize) -> Option<()> {
    let (value, width_max) = match letter {
        'f' | 'F' => return write_fraction(text, fields.fraction, letter == 'f', width),
        'y' if width <= 2 => (fields.year % 100, 2),
        'y' => (fields.year, 4),
        // There are no names, so longer patterns give two digits.
        'M' if width <= 4 => return write_number(text, fields.month, width.min(2)),
        'd' if width <= 4 => return write_number(text, fields.day, width.min(2)),
        'M' | 'd' => return None,
        'H' => (fields.hour, 2),
        'h' => ((fields.hour + 11) % 12 + 1, 2),
        'm' => (fields.minute, 2),
        _ => (fields.second, 2),
    };
    if width > width_max {
        return None;
    }
    write_number(text, value, width)
}

fn write_number(text: &mut String, value: i64, width: usize) -> Option<()> {
    write!(text, "{value:0width$}").ok()
}

/// Writes the half of the day for `tt`; any other number of letters stays as it is.
fn write_half(text: &mut String, hour: i64, width: usize) {
    match (width, hour < 12) {
        (2, true) => text.push_str("AM"),
        (2, false) => text.push_str("PM"),
        _ => text.extend(std::iter::repeat_n('t', width)),
    }
}

/// Writes the first digits of the fraction. Lower case keeps trailing zeros, upper case drops them.
fn write_fraction(text: &mut String, fraction: i64, zeros: bool, width: usize) -> Option<()> {
    let digits = format!("{fraction:07}");
    let digits = digits.get(..width)?;
    text.push_str(if zeros {
        digits
    } else {
        digits.trim_end_matches('0')
    });
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::text::parse;

    #[test]
    fn patterns() {
        let moment = parse("2005-01-02T15:04:09.0306Z").unwrap();
        for (pattern, expected) in [
            ("yyyy-MM-dd HH:mm:ss", Some("2005-01-02 15:04:09")),
            ("y yy yyy", Some("5 05 2005")),
            ("M/d H:m:s", Some("1/2 15:4:9")),
            ("h hh", Some("3 03")),
            ("f ff fff fffffff", Some("0 03 030 0306000")),
            ("F FF FFF FFFFFFF", Some(" 03 03 0306")),
            ("\\y\\\\ \\", Some("y\\ ")),
            ("[é]", Some("[é]")),
            ("", Some("")),
            ("MMM MMMM dddd", Some("01 01 02")),
            ("hh tt t", Some("03 PM t")),
            ("MMMMM", None),
            ("ffffffff", None),
        ] {
            assert_eq!(
                super::format(moment, pattern).as_deref(),
                expected,
                "{pattern}"
            );
        }
    }
}
