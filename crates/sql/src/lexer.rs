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
        self.skip_blank();
        let rest = self.rest;
        let Some(&first) = rest.as_bytes().first() else {
            return self.take(0, TokenKind::End);
        };
        match first {
            b'\'' | b'"' => self.string(first),
            b'@' => match identifier_length(&rest[1..]) {
                0 => self.invalid(1),
                length => self.take(1 + length, TokenKind::Parameter),
            },
            b'0'..=b'9' => self.number(),
            // A number may begin with a dot, but a dot in front of a name is a symbol.
            b'.' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => self.number(),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => self.word(),
            _ => match Symbol::at_start(rest) {
                Some((symbol, length)) => self.take(length, TokenKind::Symbol(symbol)),
                None => self.invalid(1),
            },
        }
    }

    /// Reads a name or a reserved word.
    fn word(&mut self) -> Token<'a> {
        let rest = self.rest;
        let length = identifier_length(rest);
        if length == 0 {
            return self.invalid(rest.chars().next().map_or(0, char::len_utf8));
        }
        // Keywords are reserved, so a word is a keyword wherever it occurs.
        let kind = Keyword::of(&rest[..length]).map_or(TokenKind::Identifier, TokenKind::Keyword);
        self.take(length, kind)
    }

    /// Skips white space and comments, which begin with `--` and end with their line.
    fn skip_blank(&mut self) {
        loop {
            let blank = self.rest.find(|c| !is_blank(c)).unwrap_or(self.rest.len());
            self.advance(blank);
            if !self.rest.starts_with("--") {
                return;
            }
            let line = self.rest.find('\n').unwrap_or(self.rest.len());
            self.advance(line);
        }
    }

    /// Reads a number. A number must not run into a word: `12a` and `0.E` are errors, not a number
    /// with an alias.
    fn number(&mut self) -> Token<'a> {
        let length = number::length(self.rest);
        let rest = &self.rest[length..];
        let word = rest
            .find(|c| !continues_identifier(c))
            .unwrap_or(rest.len());
        let kind = if word > 0 || !number::is_complete(&self.rest[..length]) {
            TokenKind::Invalid(SyntaxErrorKind::Number {
                token: self.rest[..length + word].to_owned(),
            })
        } else {
            TokenKind::Number
        };
        self.take(length + word, kind)
    }

    /// Reads a string literal and resolves its escapes. An escape by a code that is no hexadecimal
    /// number makes the text up to there one invalid token.
    fn string(&mut self, quote: u8) -> Token<'a> {
        let mut value = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((index, c)) = chars.next() {
            match c {
                _ if c == char::from(quote) => {
                    return self.take(index + 1, TokenKind::String(value));
                }
                '\\' => match escape(&self.rest[index + 1..]) {
                    Ok((resolved, length)) => {
                        value.push(resolved);
                        // A code is ASCII, and any other escape is a single character.
                        for _ in 0..length {
                            chars.next();
                        }
                    }
                    Err(length) => return self.invalid_string(index + 1 + length),
                },
                _ => value.push(c),
            }
        }
        self.invalid_string(self.rest.len())
    }

    /// The beginning of a string literal that cannot be read further.
    fn invalid_string(&mut self, length: usize) -> Token<'a> {
        let token = self.rest[..length].to_owned();
        self.take(
            length,
            TokenKind::Invalid(SyntaxErrorKind::StringLiteral { token }),
        )
    }

    /// A token that no production accepts.
    fn invalid(&mut self, length: usize) -> Token<'a> {
        let token = self.rest[..length].to_owned();
        self.take(
            length,
            TokenKind::Invalid(SyntaxErrorKind::InvalidToken { token }),
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

/// Whether a character separates tokens: the white space of the service, which has one character
/// more than Unicode.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{180E}'
}

/// The bytes of the identifier at the beginning of `text`; zero without one.
fn identifier_length(text: &str) -> usize {
    if !text.starts_with(starts_identifier) {
        return 0;
    }
    text.find(|c| !continues_identifier(c))
        .unwrap_or(text.len())
}

/// The character of an escape, and the number of characters behind the backslash. An error is the
/// number of bytes up to the first one that cannot be read.
fn escape(text: &str) -> Result<(char, usize), usize> {
    let Some(first) = text.chars().next() else {
        return Err(0);
    };
    let resolved = match first {
        'b' => '\u{8}',
        'f' => '\u{C}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode_escape(text),
        // Any other character stands for itself.
        other => other,
    };
    Ok((resolved, 1))
}

/// Resolves `uXXXX`, or a surrogate pair of two escapes. A single surrogate is no character.
fn unicode_escape(text: &str) -> Result<(char, usize), usize> {
    let high = hex_unit(&text[1..]).map_err(|length| 1 + length)?;
    if let Some(c) = char::from_u32(high) {
        return Ok((c, 5));
    }
    let low = text[5..]
        .strip_prefix("\\u")
        .and_then(|rest| hex_unit(rest).ok())
        .filter(|low| (0xDC00..0xE000).contains(low) && high < 0xDC00);
    Ok(match low {
        Some(low) => (
            char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
                .unwrap_or(char::REPLACEMENT_CHARACTER),
            11,
        ),
        None => (char::REPLACEMENT_CHARACTER, 5),
    })
}

/// Reads four hexadecimal digits. An error is the number of bytes up to and with the first
/// character that is none.
fn hex_unit(text: &str) -> Result<u32, usize> {
    let mut unit = 0;
    let mut length = 0;
    for c in text.chars().take(4) {
        length += c.len_utf8();
        unit = unit * 16 + c.to_digit(16).ok_or(length)?;
    }
    if length < 4 { Err(length) } else { Ok(unit) }
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
            ("a -- b\n c", vec!["a", "c", ""]),
            ("a /* b", vec!["a", "/", "*", "b", ""]),
            ("a\u{A0}b\u{3000}\u{180E}c\u{B}", vec!["a", "b", "c", ""]),
            ("é日 @é ²", vec!["é日", "@é", "²", ""]),
            (
                "1.5.5 1..5 .5.a",
                vec!["1.5", ".5", "1.", ".5", ".5", ".", "a", ""],
            ),
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
            (r"'a\qb\é'", "aqbé"),
            (r"'\ud83d\ud83dx'", "\u{FFFD}\u{FFFD}x"),
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
            ("01F", "01F"),
            ("1e+ 2", "1e+"),
            ("1.a", "1.a"),
            ("0.E", "0.E"),
            ("@", "@"),
            ("@1", "@"),
            ("'a", "'a"),
            ("'a\\", "'a\\"),
            (r"'\u12' x", r"'\u12'"),
            (r"'\u+123'", r"'\u+"),
            ("😀", "😀"),
            ("a!b", "!"),
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
