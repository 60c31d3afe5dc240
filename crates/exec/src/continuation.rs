//! The end position of a page, and its encoding.
//!
//! Clients store the bytes and send them back. The engine adds a checksum and binds the bytes to
//! the query; nevertheless the decoder trusts no length in them.

use orrery_json::{Number, Object, Value};
use orrery_sql::ast::SortDirection;

use crate::ExecError;
use crate::distinct_hash::DistinctHash;
use crate::position::{CutPosition, SortPosition};
use crate::skip_take::SkipTake;
use crate::sort_key::{OrderKey, SortKey, Tie};

/// Version of the encoding. The decoder refuses other versions.
const VERSION: u8 = 1;

/// The state of a query between two pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuation {
    pub(crate) skip_take: SkipTake,
    pub(crate) position: ContinuationPosition,
}

/// The end of a page, in the order of its rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContinuationPosition {
    /// Directly before a row of the document at `scan_position`.
    Scan {
        scan_position: Vec<u8>,
        row: u64,
    },
    /// Behind the row or group with this hash, in hash order.
    Hash(DistinctHash),
    Sorted(SortPosition),
}

impl Continuation {
    /// The place of the first document of the next page, for rows in scan order.
    pub fn scan_position(&self) -> Option<&[u8]> {
        match &self.position {
            ContinuationPosition::Scan { scan_position, .. } => Some(scan_position),
            ContinuationPosition::Hash(_) | ContinuationPosition::Sorted(_) => None,
        }
    }

    /// Encodes the continuation: version, rows to skip, rows to return, kind of position, position.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        write_number(self.skip_take.skip, &mut bytes);
        // Zero means no limit, so a limit is stored with an offset of one.
        write_number(self.skip_take.take.map_or(0, |take| take + 1), &mut bytes);
        match &self.position {
            ContinuationPosition::Scan { scan_position, row } => {
                bytes.push(0);
                write_number(*row, &mut bytes);
                write_bytes(scan_position, &mut bytes);
            }
            ContinuationPosition::Hash(hash) => {
                bytes.push(1);
                bytes.extend(hash.bytes());
            }
            ContinuationPosition::Sorted(SortPosition::After(row)) => {
                bytes.extend([2, 0]);
                write_keys(&row.keys, &mut bytes);
                write_tie(row.tie, &mut bytes);
            }
            ContinuationPosition::Sorted(SortPosition::Cut(cut)) => {
                bytes.push(3);
                write_number(cut.rows, &mut bytes);
                write_keys(&cut.keys, &mut bytes);
                write_tie(cut.tie, &mut bytes);
                bytes.extend(cut.hash.bytes());
            }
        }
        bytes
    }

    /// Decodes a continuation; any deviation from the encoding is an error.
    pub fn decode(bytes: &[u8]) -> Result<Continuation, ExecError> {
        let mut reader = Reader { bytes };
        match reader.resume() {
            Some(resume) if reader.bytes.is_empty() => Ok(resume),
            _ => Err(ExecError::InvalidContinuation),
        }
    }
}

/// Type tags of the values in a sort key. Their low bits are the type, one bit is the direction.
const UNDEFINED: u8 = 0;
const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const INTEGER: u8 = 4;
const DOUBLE: u8 = 5;
const STRING: u8 = 6;
const ARRAY: u8 = 7;
const OBJECT: u8 = 8;
const TYPE_BITS: u8 = 0x0f;
const DESCENDING: u8 = 0x10;

/// Writes the columns of a sort key: for each a type tag with its direction, and the value.
fn write_keys(keys: &[OrderKey], bytes: &mut Vec<u8>) {
    write_number(keys.len() as u64, bytes);
    for key in keys {
        let descending = key.direction == SortDirection::Descending;
        let flags = u8::from(descending) * DESCENDING;
        // An array or object is stored as its hash, because order and equality use nothing else of
        // it.
        match &key.value {
            Value::Undefined => bytes.push(UNDEFINED | flags),
            Value::Null => bytes.push(NULL | flags),
            Value::Bool(false) => bytes.push(FALSE | flags),
            Value::Bool(true) => bytes.push(TRUE | flags),
            Value::Number(Number::Int(number)) => {
                bytes.push(INTEGER | flags);
                bytes.extend(number.to_le_bytes());
            }
            Value::Number(Number::Float(number)) => {
                bytes.push(DOUBLE | flags);
                bytes.extend(number.to_le_bytes());
            }
            Value::String(text) => {
                bytes.push(STRING | flags);
                write_bytes(text.as_bytes(), bytes);
            }
            Value::Array(_) => {
                bytes.push(ARRAY | flags);
                bytes.extend(key.hash.bytes());
            }
            Value::Object(_) => {
                bytes.push(OBJECT | flags);
                bytes.extend(key.hash.bytes());
            }
        }
    }
}

/// Writes the part of a sort key that orders rows with equal columns.
fn write_tie(tie: Tie, bytes: &mut Vec<u8>) {
    match tie {
        Tie::Row { rid, row } => {
            bytes.push(1);
            write_number(rid, bytes);
            write_number(row, bytes);
        }
        Tie::Hash(hash) => {
            bytes.push(2);
            bytes.extend(hash.bytes());
        }
    }
}

/// Writes a number in groups of seven bits, lowest group first.
fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn write_bytes(content: &[u8], bytes: &mut Vec<u8>) {
    write_number(content.len() as u64, bytes);
    bytes.extend(content);
}

/// A cursor over bytes of a client. Every read is bounds-checked and returns `None` at the end.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn resume(&mut self) -> Option<Continuation> {
        if self.byte()? != VERSION {
            return None;
        }
        let window = SkipTake {
            skip: self.number()?,
            take: self.number()?.checked_sub(1),
        };
        let position = match self.byte()? {
            0 => {
                let row = self.number()?;
                let scan_position = self.content()?.to_vec();
                ContinuationPosition::Scan { scan_position, row }
            }
            1 => ContinuationPosition::Hash(self.hash()?),
            2 => ContinuationPosition::Sorted(SortPosition::After(self.after()?)),
            3 => ContinuationPosition::Sorted(SortPosition::Cut(self.cut()?)),
            _ => return None,
        };
        Some(Continuation {
            skip_take: window,
            position,
        })
    }

    /// Reads a position behind a complete key. Earlier versions stored a row count in the byte
    /// before it, which is zero now.
    fn after(&mut self) -> Option<SortKey> {
        if self.byte()? != 0 {
            return None;
        }
        Some(SortKey {
            keys: self.keys()?,
            tie: self.tie()?,
        })
    }

    /// A position whose last string was cut, with the hash of the whole key.
    fn cut(&mut self) -> Option<CutPosition> {
        Some(CutPosition {
            rows: self.number()?,
            keys: self.keys()?,
            tie: self.tie()?,
            hash: self.hash()?,
        })
    }

    /// Reads the columns of a key. A huge count fails at the first missing column, so it allocates
    /// nothing.
    fn keys(&mut self) -> Option<Vec<OrderKey>> {
        let count = self.number()?;
        (0..count).map(|_| self.key()).collect()
    }

    fn tie(&mut self) -> Option<Tie> {
        Some(match self.byte()? {
            1 => Tie::Row {
                rid: self.number()?,
                row: self.number()?,
            },
            2 => Tie::Hash(self.hash()?),
            _ => return None,
        })
    }

    /// Reads one column. The elements of an array or object are not stored, only their hash.
    fn key(&mut self) -> Option<OrderKey> {
        let tag = self.byte()?;
        // A client may have changed the token, so unknown bits are refused.
        if tag & !(TYPE_BITS | DESCENDING) != 0 {
            return None;
        }
        let mut hash = DistinctHash::default();
        let value = match tag & TYPE_BITS {
            UNDEFINED => Value::Undefined,
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            INTEGER => Value::from(i64::from_le_bytes(self.array()?)),
            DOUBLE => Value::Number(Number::Float(f64::from_le_bytes(self.array()?))),
            STRING => Value::String(String::from_utf8(self.content()?.to_vec()).ok()?),
            ARRAY => {
                hash = self.hash()?;
                Value::Array(Vec::new())
            }
            OBJECT => {
                hash = self.hash()?;
                Value::Object(Object::default())
            }
            _ => return None,
        };
        let direction = if tag & DESCENDING == 0 {
            SortDirection::Ascending
        } else {
            SortDirection::Descending
        };
        Some(OrderKey {
            value,
            hash,
            direction,
        })
    }

    fn hash(&mut self) -> Option<DistinctHash> {
        self.array().map(DistinctHash::from_bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*array)
    }

    /// Reads a number in groups of seven bits; refuses numbers beyond 64 bits.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // Bits beyond 64 would be lost by the shift.
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a length-prefixed byte string. The length comes from a client, so the slice is
    /// bounds-checked.
    fn content(&mut self) -> Option<&[u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (content, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(content)
    }
}
