//! Who sends a request, and when: its signature and its date.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use orrery_model::Secret;
use sha2::Sha256;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY_SECONDS: u64 = 86_400;

/// The value of `authorization` for a query of the items of a container.
pub(super) fn authorization(key: &Secret, container_link: &str, date: &str) -> String {
    let date = date.to_ascii_lowercase();
    let signed = format!("post\ndocs\n{container_link}\n{date}\n\n");
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose()).expect("any length is a key");
    mac.update(signed.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let escaped = signature
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D");
    format!("type%3Dmaster%26ver%3D1.0%26sig%3D{escaped}")
}

/// Now, as `x-ms-date` carries it.
pub(super) fn date() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    date_of(since.map_or(0, |since| since.as_secs()))
}

fn date_of(seconds: u64) -> String {
    let (days, second) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
    let weekday = DAYS[usize::try_from(days % 7).expect("below seven")];
    let (mut year, mut day) = (1970, days);
    while day >= year_days(year) {
        day -= year_days(year);
        year += 1;
    }
    let february = year_days(year) - 337;
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = "";
    for (name, length) in MONTHS.into_iter().zip(lengths) {
        month = name;
        if day < length {
            break;
        }
        day -= length;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let day = day + 1;
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

fn year_days(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::EMULATOR_KEY;

    #[test]
    fn dates() {
        for (seconds, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_493_254_272, "Thu, 27 Apr 2017 00:51:12 GMT"),
            (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
        ] {
            assert_eq!(date_of(seconds), expected);
        }
    }

    #[test]
    fn a_published_vector() {
        let key = Secret::new(STANDARD.decode(EMULATOR_KEY).unwrap());
        let date = "Sun, 15 Nov 2026 06:00:00 GMT";
        let header = authorization(&key, "dbs/My Db/colls/C1", date);
        let expected = "type%3Dmaster%26ver%3D1.0%26sig%3D\
                        Nnjz3rFomRvS7NxzulS28ebGm5p%2FWA2GncJQX8cDyy4%3D";
        assert_eq!(header, expected);
    }
}
