//! One header of a request and the ways to read it.

use std::borrow::Cow;

use http::HeaderValue;
use orrery_model::Failure;

pub(super) struct Header<'a, 'n> {
    pub(super) name: &'n str,
    pub(super) value: &'a HeaderValue,
}

impl<'a> Header<'a, '_> {
    pub(super) fn text(&self) -> Result<&'a str, Failure> {
        std::str::from_utf8(self.value.as_bytes())
            .map_err(|_| invalid_value(self.name, &self.lenient_text()))
    }

    pub(super) fn non_empty(&self) -> Result<Option<&'a str>, Failure> {
        Ok(Some(self.text()?).filter(|text| !text.is_empty()))
    }

    /// UTF-8, or else Latin-1.
    pub(super) fn lenient_text(&self) -> Cow<'a, str> {
        let bytes = self.value.as_bytes();
        match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
        }
    }

    pub(super) fn parsed<T>(&self, parse: impl FnOnce(&'a str) -> Option<T>) -> Result<T, Failure> {
        let text = self.text()?;
        parse(text).ok_or_else(|| invalid_value(self.name, text))
    }

    /// Anything but `true` is false, as the public gateway reads flags.
    pub(super) fn flag(&self) -> bool {
        self.value
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"true")
    }
}

pub(super) fn invalid_value(header: &str, value: &str) -> Failure {
    Failure::BadRequest(format!(
        "Value '{value}' specified for the header '{header}' is invalid."
    ))
}
