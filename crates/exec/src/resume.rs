//! Where a page ended, and the bytes that say so.
//!
//! The bytes go out to clients and come back; the engine wraps them in a checksum and binds them
//! to the query, but reading them never trusts their lengths.

use orrery_json::{Number, Object, Value};
use orrery_sql::ast::Direction;

use crate::ExecError;
use crate::distinct_hash::DistinctHash;
use crate::position::{PositionKey, SortPosition};
use crate::sort_key::{OrderKey, Tie};
use crate::window::Window;

const VERSION: u8 = 1;

/// The state of a query between two pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    pub(crate) window: Window,
    pub(crate) position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Position {
    /// Before a row of the document at `place`.
    Place {
        place: Vec<u8>,
        row: u64,
    },
    /// After the row or group with this hash, in the order of hashes.
    Hash(DistinctHash),
    Sorted(SortPosition),
}

impl Resume {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        write_number(self.window.skip, &mut bytes);
        write_number(self.window.take.map_or(0, |take| take + 1), &mut bytes);
        match &self.position {
            Position::Place { place, row } => {
                bytes.push(0);
                write_number(*row, &mut bytes);
                write_bytes(place, &mut bytes);
            }
            Position::Hash(hash) => {
                bytes.push(1);
                bytes.extend(hash.bytes());
            }
            Position::Sorted(position) => {
                bytes.push(2);
                write_position(position, &mut bytes);
            }
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Resume, ExecError> {
        let mut reader = Reader { bytes };
        match reader.resume() {
            Some(resume) if reader.bytes.is_empty() => Ok(resume),
            _ => Err(ExecError::InvalidResume),
        }
    }
}

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
const CUT: u8 = 0x20;

fn write_position(position: &SortPosition, bytes: &mut Vec<u8>) {
    write_number(position.done, bytes);
    write_number(position.keys.len() as u64, bytes);
    for PositionKey { key, is_cut } in &position.keys {
        let descending = key.direction == Direction::Descending;
        let flags = (u8::from(descending) * DESCENDING) | (u8::from(*is_cut) * CUT);
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
    match position.tie {
        None => bytes.push(0),
        Some(Tie::Row { rid, row }) => {
            bytes.push(1);
            write_number(rid, bytes);
            write_number(row, bytes);
        }
        Some(Tie::Hash(hash)) => {
            bytes.push(2);
            bytes.extend(hash.bytes());
        }
    }
}

/// Seven bits a byte, the lowest first.
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

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn resume(&mut self) -> Option<Resume> {
        if self.byte()? != VERSION {
            return None;
        }
        let window = Window {
            skip: self.number()?,
            take: self.number()?.checked_sub(1),
        };
        let position = match self.byte()? {
            0 => {
                let row = self.number()?;
                let place = self.content()?.to_vec();
                Position::Place { place, row }
            }
            1 => Position::Hash(self.hash()?),
            2 => Position::Sorted(self.position()?),
            _ => return None,
        };
        Some(Resume { window, position })
    }

    fn position(&mut self) -> Option<SortPosition> {
        let done = self.number()?;
        let count = self.number()?;
        let mut keys = Vec::new();
        for _ in 0..count {
            keys.push(self.key()?);
        }
        let tie = match self.byte()? {
            0 => None,
            1 => Some(Tie::Row {
                rid: self.number()?,
                row: self.number()?,
            }),
            2 => Some(Tie::Hash(self.hash()?)),
            _ => return None,
        };
        let is_cut = keys.last().is_some_and(|key| key.is_cut);
        (is_cut == tie.is_none()).then_some(SortPosition { keys, tie, done })
    }

    fn key(&mut self) -> Option<PositionKey> {
        let tag = self.byte()?;
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
            Direction::Ascending
        } else {
            Direction::Descending
        };
        Some(PositionKey {
            key: OrderKey {
                value,
                hash,
                direction,
            },
            is_cut: tag & CUT != 0,
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

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
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

    fn content(&mut self) -> Option<&[u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (content, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(content)
    }
}
