//! One header of a request, with functions that read its value.

use std::borrow::Cow;

use http::HeaderValue;
use orrery_model::Failure;

/// One header with its name for error messages.
pub(super) struct Header<'a, 'n> {
    pub(super) name: &'n str,
    pub(super) value: &'a HeaderValue,
}

impl<'a> Header<'a, '_> {
    /// The value as UTF-8.
    pub(super) fn text(&self) -> Result<&'a str, Failure> {
        std::str::from_utf8(self.value.as_bytes())
            // The message must print the value, even if it is not UTF-8.
            .map_err(|_| invalid_value(self.name, &self.lenient_text()))
    }

    /// Returns None for an empty header value.
    pub(super) fn non_empty(&self) -> Result<Option<&'a str>, Failure> {
        Ok(Some(self.text()?).filter(|text| !text.is_empty()))
    }

    /// The value as UTF-8, or else as Latin-1.
    pub(super) fn lenient_text(&self) -> Cow<'a, str> {
        let bytes = self.value.as_bytes();
        match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
        }
    }

    /// The value as another type. A refusal names the header and the value.
    pub(super) fn parsed<T>(&self, parse: impl FnOnce(&'a str) -> Option<T>) -> Result<T, Failure> {
        let text = self.text()?;
        parse(text).ok_or_else(|| invalid_value(self.name, text))
    }

    /// A flag: any value but `true` is false, as in the public gateway of Cosmos DB.
    pub(super) fn flag(&self) -> bool {
        self.value
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"true")
    }
}

/// The refusal of a header, with the message of Cosmos DB.
pub(super) fn invalid_value(header: &str, value: &str) -> Failure {
    Failure::BadRequest(format!(
        "Value '{value}' specified for the header '{header}' is invalid."
    ))
}
