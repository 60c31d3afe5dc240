//! The date of a request, formatted once a second.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The current second, in the form of the `x-ms-date` header, and in lower case, as a signature
/// covers it.
#[derive(Default)]
pub struct RequestDate {
    second: u64,
    header: String,
    lower_case: String,
}

impl RequestDate {
    pub fn now() -> RequestDate {
        let mut date = RequestDate::default();
        date.refresh();
        date
    }

    /// Formats the date again if the second has changed.
    pub fn refresh(&mut self) {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
        let second = elapsed.map_or(0, |elapsed| elapsed.as_secs());
        if second != self.second {
            self.second = second;
            self.header = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
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
