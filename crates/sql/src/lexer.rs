//! Splits query text into tokens.

use crate::keyword::{Keyword, continues_identifier, starts_identifier};
use crate::token::{Symbol, Token, TokenKind};
use crate::{Span, SyntaxErrorKind, number};

/// All tokens of `text`; the last one is always [`TokenKind::End`].
pub(crate) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        rest: text,
        offset: 0,
    };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next();
        let invalid = matches!(token.kind, TokenKind::Invalid(_));
        let end = token.kind == TokenKind::End;
        tokens.push(token);
        if invalid {
            tokens.push(lexer.take(0, TokenKind::End));
        }
        if invalid || end {
            return tokens;
        }
    }
}

/// The lexer. It never fails: text that it cannot read becomes an invalid token at the end.
struct Lexer<'a> {
    rest: &'a str,
    /// Characters before `rest`.
    offset: usize,
}

impl<'a> Lexer<'a> {
    /// Reads the next token.
    fn next(&mut self) -> Token<'a> {
        if let Err(comment) = self.skip_blank() {
            return comment;
        }
        let rest = self.rest;
        let Some(&first) = rest.as_bytes().first() else {
            return self.take(0, TokenKind::End);
        };
        match first {
            b'\'' | b'"' => self.string(first),
            b'@' => match identifier_length(&rest[1..]) {
                0 => self.unexpected(1),
                length => self.take(1 + length, TokenKind::Parameter),
            },
            b'0'..=b'9' => self.number(),
            // A number may begin with a dot, but a dot in front of a name is a symbol.
            b'.' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => self.number(),
            _ if starts_identifier(first) => {
                let length = identifier_length(rest);
                // Keywords are reserved, so a word is a keyword wherever it occurs.
                let kind =
                    Keyword::of(&rest[..length]).map_or(TokenKind::Identifier, TokenKind::Keyword);
                self.take(length, kind)
            }
            _ => match Symbol::at_start(rest) {
                Some((symbol, length)) => self.take(length, TokenKind::Symbol(symbol)),
                None => self.unexpected(rest.chars().next().map_or(0, char::len_utf8)),
            },
        }
    }

    /// Skips white space and comments. An unterminated block comment is an error.
    fn skip_blank(&mut self) -> Result<(), Token<'a>> {
        loop {
            let blank = self
                .rest
                .bytes()
                .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
                .count();
            self.advance(blank);
            if self.rest.starts_with("--") {
                let line = self.rest.find('\n').unwrap_or(self.rest.len());
                self.advance(line);
            } else if self.rest.starts_with("/*") {
                let Some(length) = self.rest[2..].find("*/") else {
                    return Err(self.unexpected(2));
                };
                self.advance(length + 4);
            } else {
                return Ok(());
            }
        }
    }

    /// Reads a number. A number must not run into a word: `12a` and `0.E` are errors, not a number
    /// with an alias.
    fn number(&mut self) -> Token<'a> {
        let length = number::length(self.rest);
        let word = self.rest[length..]
            .bytes()
            .take_while(|byte| continues_identifier(*byte))
            .count();
        if length == 0 || word > 0 {
            return self.unexpected(length + word);
        }
        self.take(length, TokenKind::Number)
    }

    /// Reads a string literal and resolves its escapes. An invalid escape makes the rest of the
    /// text one invalid token.
    fn string(&mut self, quote: u8) -> Token<'a> {
        let mut value = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((index, c)) = chars.next() {
            match c {
                _ if c == char::from(quote) => {
                    return self.take(index + 1, TokenKind::String(value));
                }
                '\\' => match escape(&self.rest[index + 1..]) {
                    Some((resolved, length)) => {
                        value.push(resolved);
                        // Escapes are ASCII, so their bytes and characters are equal in number.
                        for _ in 0..length {
                            chars.next();
                        }
                    }
                    None => break,
                },
                _ => value.push(c),
            }
        }
        self.take(
            self.rest.len(),
            TokenKind::Invalid(SyntaxErrorKind::StringLiteral),
        )
    }

    /// A token that no production accepts.
    fn unexpected(&mut self, length: usize) -> Token<'a> {
        let token = self.rest[..length].to_owned();
        self.take(
            length,
            TokenKind::Invalid(SyntaxErrorKind::Unexpected { token }),
        )
    }

    /// Takes `length` bytes as a token.
    fn take(&mut self, length: usize, kind: TokenKind) -> Token<'a> {
        let text = &self.rest[..length];
        let start = self.offset;
        self.advance(length);
        Token {
            kind,
            text,
            span: Span {
                start,
                end: self.offset,
            },
        }
    }

    /// Moves forward by `length` bytes. The offset counts characters, because error positions do.
    fn advance(&mut self, length: usize) {
        let (passed, rest) = self.rest.split_at(length);
        self.offset += passed.chars().count();
        self.rest = rest;
    }
}

/// The bytes of the identifier at the beginning of `text`; zero without one.
fn identifier_length(text: &str) -> usize {
    if !text.bytes().next().is_some_and(starts_identifier) {
        return 0;
    }
    text.bytes()
        .take_while(|byte| continues_identifier(*byte))
        .count()
}

/// The character of an escape, and the number of bytes behind the backslash.
fn escape(text: &str) -> Option<(char, usize)> {
    let resolved = match text.as_bytes().first()? {
        b'\'' => '\'',
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode_escape(text),
        _ => return None,
    };
    Some((resolved, 1))
}

/// Resolves `uXXXX`, or a surrogate pair of two escapes.
fn unicode_escape(text: &str) -> Option<(char, usize)> {
    let high = hex_unit(text.get(1..5)?)?;
    if let Some(c) = char::from_u32(high) {
        // A single surrogate is no character, so its other half must follow.
        return Some((c, 5));
    }
    let low = hex_unit(text.get(5..11)?.strip_prefix("\\u")?)?;
    if !(0xD800..0xDC00).contains(&high) || !(0xDC00..0xE000).contains(&low) {
        return None;
    }
    let c = char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))?;
    Some((c, 11))
}

/// Reads four hexadecimal digits. The digits are checked first, because the number parser also
/// accepts a sign.
fn hex_unit(digits: &str) -> Option<u32> {
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all_hex
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &str) -> Vec<String> {
        tokenize(text)
            .iter()
            .map(|token| token.text.to_owned())
            .collect()
    }

    #[test]
    fn texts_split() {
        for (text, expected) in [
            ("a.b", vec!["a", ".", "b", ""]),
            (
                "a>>>b>>c>=d",
                vec!["a", ">>>", "b", ">>", "c", ">=", "d", ""],
            ),
            ("a -- b\n c /* d */ e", vec!["a", "c", "e", ""]),
            ("@p1<>.5", vec!["@p1", "<>", ".5", ""]),
            ("a ??b", vec!["a", "??", "b", ""]),
        ] {
            assert_eq!(strings(text), expected, "{text}");
        }
    }

    #[test]
    fn string_escapes_resolve() {
        for (text, expected) in [
            (r#"'a"b'"#, "a\"b"),
            (r#""it's""#, "it's"),
            (r"'\'\\\/\b\f\n\r\t'", "'\\/\u{8}\u{C}\n\r\t"),
            (r"'\u00e9\ud83d\ude00'", "é😀"),
            ("'\t\r\n\0\u{1F}'", "\t\r\n\0\u{1F}"),
        ] {
            assert_eq!(
                tokenize(text)[0].kind,
                TokenKind::String(expected.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_ends_the_tokens() {
        for (text, expected) in [
            ("a # b", "#"),
            ("$1", "$"),
            ("12a", "12a"),
            ("007", "007"),
            ("0.E", "0.E"),
            ("@", "@"),
            ("@1", "@"),
            ("/* a", "/*"),
            ("'a", "'a"),
            (r"'\x'", r"'\x'"),
            (r"'\ud800'", r"'\ud800'"),
            (r"'\u+123'", r"'\u+123'"),
            ("é", "é"),
        ] {
            let tokens = tokenize(text);
            let invalid = &tokens[tokens.len() - 2];
            assert!(
                matches!(invalid.kind, TokenKind::Invalid(_)),
                "{text}: {invalid:?}"
            );
            assert_eq!(invalid.text, expected, "{text}");
        }
    }

    #[test]
    fn spans_count_characters() {
        let tokens = tokenize("'é' a");
        assert_eq!((tokens[0].span.start, tokens[0].span.end), (0, 3));
        assert_eq!((tokens[1].span.start, tokens[1].span.end), (4, 5));
    }
}
