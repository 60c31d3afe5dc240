//! The types of token values, and how many bytes a value takes.

/// The type of a value. Integers are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenType {
    /// Also a flag, 0 or 1.
    Byte = 0x00,
    UShort = 0x01,
    /// 32 bits without sign.
    ULong = 0x02,
    /// 32 bits with sign.
    Long = 0x03,
    ULongLong = 0x04,
    LongLong = 0x05,
    Guid = 0x06,
    /// UTF-8 after one byte with its length.
    SmallString = 0x07,
    /// UTF-8 after two bytes with its length.
    String = 0x08,
    /// UTF-8 after four bytes with its length.
    ULongString = 0x09,
    SmallBytes = 0x0A,
    Bytes = 0x0B,
    ULongBytes = 0x0C,
    Float = 0x0D,
    Double = 0x0E,
}

/// The extent of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Fixed(usize),
    /// The number of bytes that state the length of the value.
    Counted(usize),
}

impl TokenType {
    pub fn of_id(id: u8) -> Option<TokenType> {
        Some(match id {
            0x00 => TokenType::Byte,
            0x01 => TokenType::UShort,
            0x02 => TokenType::ULong,
            0x03 => TokenType::Long,
            0x04 => TokenType::ULongLong,
            0x05 => TokenType::LongLong,
            0x06 => TokenType::Guid,
            0x07 => TokenType::SmallString,
            0x08 => TokenType::String,
            0x09 => TokenType::ULongString,
            0x0A => TokenType::SmallBytes,
            0x0B => TokenType::Bytes,
            0x0C => TokenType::ULongBytes,
            0x0D => TokenType::Float,
            0x0E => TokenType::Double,
            _ => return None,
        })
    }

    pub fn id(self) -> u8 {
        self as u8
    }

    pub(crate) fn extent(self) -> Extent {
        match self {
            TokenType::Byte => Extent::Fixed(1),
            TokenType::UShort => Extent::Fixed(2),
            TokenType::ULong | TokenType::Long | TokenType::Float => Extent::Fixed(4),
            TokenType::ULongLong | TokenType::LongLong | TokenType::Double => Extent::Fixed(8),
            TokenType::Guid => Extent::Fixed(16),
            TokenType::SmallString | TokenType::SmallBytes => Extent::Counted(1),
            TokenType::String | TokenType::Bytes => Extent::Counted(2),
            TokenType::ULongString | TokenType::ULongBytes => Extent::Counted(4),
        }
    }
}
