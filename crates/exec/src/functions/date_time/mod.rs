//! Date and time: UTC times between the years 1601 and 9999 with a resolution of 100 nanoseconds.
//!
//! `calendar` counts days, `text` reads and writes the text form, `part` does arithmetic in years
//! to nanoseconds, `format` prints by a pattern. The function tables are in `functions`, and in
//! `clock` for functions of the query's time.

mod calendar;
mod clock;
mod format;
mod functions;
mod part;
mod text;

pub(super) use clock::FUNCTIONS as CLOCK_FUNCTIONS;
pub(super) use functions::FUNCTIONS;
pub(super) use text::parse;
