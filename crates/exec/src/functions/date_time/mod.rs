//! Date and time: moments of UTC between the years 1 and 9999, to a tenth of a microsecond.
//!
//! `calendar` counts days, `text` reads and writes moments, `part` does arithmetic in years to
//! nanoseconds, `format` prints by a pattern. The tables are in `functions`, and in `clock` for
//! what depends on the moment of the query.

mod calendar;
mod clock;
mod format;
mod functions;
mod part;
mod text;

pub(super) use clock::FUNCTIONS as CLOCK_FUNCTIONS;
pub(super) use functions::FUNCTIONS;
pub(super) use text::parse;
