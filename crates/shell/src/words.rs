//! The words of a command: bare or quoted names, JSON values, and the rest of the line.

/// A command, read from left to right.
pub(crate) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    /// Begins at the first word.
    pub(crate) fn new(text: &'a str) -> Words<'a> {
        Words { rest: text.trim() }
    }

    /// The next name. A quoted name may contain spaces.
    pub(crate) fn name(&mut self) -> Option<&'a str> {
        let quote = self.rest.chars().next()?;
        if quote == '"' || quote == '\'' {
            let inner = &self.rest[1..];
            // A quote without its end is a part of the word.
            if let Some(end) = inner.find(quote) {
                self.rest = inner[end + 1..].trim_start();
                return Some(&inner[..end]);
            }
        }
        let end = self.rest.find(char::is_whitespace);
        Some(self.cut(end.unwrap_or(self.rest.len())))
    }

    /// The next JSON value, or the next word if there is none.
    pub(crate) fn value(&mut self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let end = match first {
            // JSON values may contain spaces.
            '[' | '{' | '"' => end_of_value(self.rest),
            _ => self.rest.find(char::is_whitespace),
        };
        Some(self.cut(end.unwrap_or(self.rest.len())))
    }

    /// The text after the words that were read.
    pub(crate) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Takes the text up to this position, and skips the white space after it.
    fn cut(&mut self, end: usize) -> &'a str {
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }
}

/// The end of a value that begins with a bracket or a quote. None if the value is incomplete.
pub(crate) fn end_of_value(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                // An escaped quote does not end the string.
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
        } else {
            match c {
                '"' => in_string = true,
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 && !in_string {
            return Some(index + c.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_and_the_rest() {
        let mut words = Words::new("  get 'a b' [\"x ]\", {\"y\": 1}]  \"z w\" 7 more of it ");
        assert_eq!(words.name(), Some("get"));
        assert_eq!(words.name(), Some("a b"));
        assert_eq!(words.value(), Some("[\"x ]\", {\"y\": 1}]"));
        assert_eq!(words.value(), Some("\"z w\""));
        assert_eq!(words.value(), Some("7"));
        assert_eq!(words.rest(), "more of it");
        assert_eq!(Words::new("").name(), None);
        assert_eq!(Words::new("it's").name(), Some("it's"));
    }

    #[test]
    fn values_end_where_they_close() {
        for (text, expected) in [
            (r#"{"a":"}"} b"#, Some(9)),
            (r#""\"" b"#, Some(4)),
            (r#"{"a":1"#, None),
            (r#"["a"#, None),
        ] {
            assert_eq!(end_of_value(text), expected, "{text}");
        }
    }
}
