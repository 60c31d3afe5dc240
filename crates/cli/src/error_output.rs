//! An error on standard error: the whole chain once, and a hint.

use std::io::{self, Write};

use crate::hint::hint;

pub(crate) fn print_error(error: &anyhow::Error) {
    let mut text = format!("error: {error:#}\n");
    if let Some(hint) = hint(error) {
        text.push_str("hint: ");
        text.push_str(hint);
        text.push('\n');
    }
    // A failure to write to standard error has no other channel to be reported on.
    let _ = io::stderr().write_all(text.as_bytes());
}
