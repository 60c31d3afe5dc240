//! Tokens: the numbered values between the head of a frame and its payload.

use bytes::{BufMut, Bytes, BytesMut};

use crate::table::TokenName;
use crate::token_type::Extent;
use crate::{Guid, Malformed, TokenType};

/// The bytes of a token before its value: its id and its type.
const TOKEN_HEAD_BYTES: usize = 3;

/// One token. Its value lies in the bytes of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    pub id: u16,
    pub kind: TokenType,
    /// The bytes of the value, without those that state its length.
    value: &'t [u8],
}

impl<'t> Token<'t> {
    /// The value as a whole number, for every type of whole numbers.
    pub fn number(&self) -> Result<i64, Malformed> {
        let value = match self.kind {
            TokenType::Byte => i64::from(u8::from_le_bytes(self.fixed()?)),
            TokenType::UShort => i64::from(u16::from_le_bytes(self.fixed()?)),
            TokenType::ULong => i64::from(u32::from_le_bytes(self.fixed()?)),
            TokenType::Long => i64::from(i32::from_le_bytes(self.fixed()?)),
            TokenType::LongLong | TokenType::ULongLong => i64::from_le_bytes(self.fixed()?),
            _ => return Err(Malformed::Value(self.id)),
        };
        Ok(value)
    }

    pub fn double(&self) -> Result<f64, Malformed> {
        match self.kind {
            TokenType::Double => Ok(f64::from_le_bytes(self.fixed()?)),
            _ => Err(Malformed::Value(self.id)),
        }
    }

    /// The value, which has a number of bytes that its type fixes.
    fn fixed<const LENGTH: usize>(&self) -> Result<[u8; LENGTH], Malformed> {
        self.value.try_into().map_err(|_| Malformed::Value(self.id))
    }

    pub fn text(&self) -> Result<&'t str, Malformed> {
        match self.kind {
            TokenType::SmallString | TokenType::String | TokenType::ULongString => {
                std::str::from_utf8(self.value).map_err(|_| Malformed::Value(self.id))
            }
            _ => Err(Malformed::Value(self.id)),
        }
    }

    pub fn bytes(&self) -> Result<&'t [u8], Malformed> {
        match self.kind {
            TokenType::SmallBytes | TokenType::Bytes | TokenType::ULongBytes => Ok(self.value),
            _ => Err(Malformed::Value(self.id)),
        }
    }

    pub fn guid(&self) -> Result<Guid, Malformed> {
        match self.kind {
            TokenType::Guid => self.fixed().map(Guid),
            _ => Err(Malformed::Value(self.id)),
        }
    }

    /// Writes the token as it was read.
    pub fn write(&self, out: &mut BytesMut) {
        out.put_u16_le(self.id);
        out.put_u8(self.kind.id());
        let length = self.value.len();
        // The length came from a field of the same width, so it fits.
        match self.kind.extent() {
            Extent::Counted(1) => out.put_u8(u8::try_from(length).unwrap_or(u8::MAX)),
            Extent::Counted(2) => out.put_u16_le(u16::try_from(length).unwrap_or(u16::MAX)),
            Extent::Counted(_) => out.put_u32_le(u32::try_from(length).unwrap_or(u32::MAX)),
            Extent::Fixed(_) => {}
        }
        out.put_slice(self.value);
    }
}

/// The tokens of one frame, checked as a whole: each has a known type and ends within the frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens(Bytes);

impl Tokens {
    /// Checks the tokens of a frame. A token of an unknown type has no end, so it makes the frame
    /// unreadable; a token of an unknown id does not.
    pub(crate) fn check(bytes: Bytes) -> Result<Tokens, Malformed> {
        let mut rest: &[u8] = &bytes;
        while !rest.is_empty() {
            let (_, after) = split_token(rest)?;
            rest = after;
        }
        Ok(Tokens(bytes))
    }

    /// The tokens in the order of the frame.
    pub fn iter(&self) -> impl Iterator<Item = Token<'_>> {
        let mut rest: &[u8] = &self.0;
        std::iter::from_fn(move || {
            let (token, after) = split_token(rest).ok()?;
            rest = after;
            Some(token)
        })
    }

    /// The first token of a name.
    pub fn get<T: TokenName>(&self, name: T) -> Option<Token<'_>> {
        self.iter().find(|token| token.id == name.id())
    }
}

/// The first token of `bytes`, and the bytes after it.
fn split_token(bytes: &[u8]) -> Result<(Token<'_>, &[u8]), Malformed> {
    let cut = Malformed::Cut;
    let (head, rest) = bytes.split_first_chunk::<TOKEN_HEAD_BYTES>().ok_or(cut)?;
    let [low, high, kind] = *head;
    let id = u16::from_le_bytes([low, high]);
    let kind = TokenType::of_id(kind).ok_or(Malformed::Type(id))?;
    let (length, rest) = match kind.extent() {
        Extent::Fixed(length) => (length, rest),
        Extent::Counted(1) => {
            let (length, rest) = rest.split_first().ok_or(cut)?;
            (usize::from(*length), rest)
        }
        Extent::Counted(2) => {
            let (length, rest) = rest.split_first_chunk().ok_or(cut)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        Extent::Counted(_) => {
            let (length, rest) = rest.split_first_chunk().ok_or(cut)?;
            let length = usize::try_from(u32::from_le_bytes(*length));
            (length.map_err(|_| cut)?, rest)
        }
    };
    let (value, rest) = rest.split_at_checked(length).ok_or(cut)?;
    Ok((Token { id, kind, value }, rest))
}

/// Writes tokens, each with its declared type.
#[derive(Debug, Default)]
pub struct TokenWriter(BytesMut);

impl TokenWriter {
    /// A writer that leaves the given number of bytes free for the head of a frame.
    pub(crate) fn after_head(head_bytes: usize) -> TokenWriter {
        let mut out = BytesMut::with_capacity(512);
        out.put_bytes(0, head_bytes);
        TokenWriter(out)
    }

    pub(crate) fn into_bytes(self) -> BytesMut {
        self.0
    }

    fn head<T: TokenName>(&mut self, name: T) {
        self.0.put_u16_le(name.id());
        self.0.put_u8(name.declared_type().id());
    }

    /// Writes a whole number in the declared type. A number that the type cannot hold becomes the
    /// nearest one that it can hold.
    pub fn number<T: TokenName>(&mut self, name: T, value: i64) {
        let kind = name.declared_type();
        debug_assert!(is_number(kind), "{kind:?} is no whole number");
        if !is_number(kind) {
            return;
        }
        self.head(name);
        match kind {
            TokenType::Byte => self.0.put_u8(clamped(value, u8::MAX)),
            TokenType::UShort => self.0.put_u16_le(clamped(value, u16::MAX)),
            TokenType::ULong => self.0.put_u32_le(clamped(value, u32::MAX)),
            TokenType::Long => {
                let value = value.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
                self.0.put_i32_le(i32::try_from(value).unwrap_or_default());
            }
            _ => self.0.put_i64_le(value),
        }
    }

    pub fn double<T: TokenName>(&mut self, name: T, value: f64) {
        debug_assert!(name.declared_type() == TokenType::Double);
        if name.declared_type() == TokenType::Double {
            self.head(name);
            self.0.put_f64_le(value);
        }
    }

    /// Writes bytes. Returns false, and writes nothing, if there are more than the type allows.
    pub fn bytes<T: TokenName>(&mut self, name: T, bytes: &[u8]) -> bool {
        debug_assert!(name.declared_type() == TokenType::Bytes);
        let Ok(length) = u16::try_from(bytes.len()) else {
            return false;
        };
        self.head(name);
        self.0.put_u16_le(length);
        self.0.put_slice(bytes);
        true
    }

    /// Writes a text. Returns false, and writes nothing, if the text is longer than its type allows.
    pub fn text<T: TokenName>(&mut self, name: T, text: &str) -> bool {
        match name.declared_type() {
            TokenType::SmallString => {
                let Ok(length) = u8::try_from(text.len()) else {
                    return false;
                };
                self.head(name);
                self.0.put_u8(length);
            }
            TokenType::String => {
                let Ok(length) = u16::try_from(text.len()) else {
                    return false;
                };
                self.head(name);
                self.0.put_u16_le(length);
            }
            kind => {
                debug_assert!(false, "{kind:?} is no text");
                return false;
            }
        }
        self.0.put_slice(text.as_bytes());
        true
    }
}

fn is_number(kind: TokenType) -> bool {
    matches!(
        kind,
        TokenType::Byte
            | TokenType::UShort
            | TokenType::ULong
            | TokenType::Long
            | TokenType::ULongLong
            | TokenType::LongLong
    )
}

/// The value as a type without sign; values outside of it become its nearest value.
fn clamped<T: TryFrom<i64> + Default>(value: i64, max: T) -> T {
    if value < 0 {
        return T::default();
    }
    T::try_from(value).unwrap_or(max)
}
