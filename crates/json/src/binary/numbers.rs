//! Numbers, and arrays of numbers of one type.

use super::{BinaryReader, ReadResult, malformed};
use crate::{Number, Value};

/// The type of the numbers of an array.
#[derive(Clone, Copy)]
enum NumberType {
    U8,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl NumberType {
    fn of(marker: u8) -> ReadResult<NumberType> {
        Ok(match marker {
            0xD7 => NumberType::U8,
            0xD8 => NumberType::I8,
            0xD9 => NumberType::I16,
            0xDA => NumberType::I32,
            0xDB => NumberType::I64,
            0xCD => NumberType::F32,
            0xCE => NumberType::F64,
            other => {
                return malformed(format!(
                    "the binary JSON marker {other:02X} is no type of the numbers of an array"
                ));
            }
        })
    }
}

impl BinaryReader<'_> {
    /// A number whose marker says its type.
    pub(super) fn number(&mut self, marker: u8) -> ReadResult<Value> {
        match marker {
            0xC7 => {
                let value = u64::from_le_bytes(self.array()?);
                let exact = i64::try_from(value).map(Number::from);
                Ok(Value::Number(exact.unwrap_or(Number::from(value as f64))))
            }
            0xC8 => self.typed(NumberType::U8),
            0xC9 => self.typed(NumberType::I16),
            0xCA => self.typed(NumberType::I32),
            0xCB => self.typed(NumberType::I64),
            _ => self.typed(NumberType::F64),
        }
    }

    /// An array of numbers of one type, or an array of such arrays.
    pub(super) fn uniform(&mut self, marker: u8, depth_left: usize) -> ReadResult<Value> {
        if matches!(marker, 0xF0 | 0xF1) {
            let number_type = NumberType::of(self.marker()?)?;
            let count = self.size(marker - 0xF0)?;
            return self.numbers(number_type, count);
        }
        super::deeper(depth_left)?;
        if self.marker()? != marker - 2 {
            return malformed("an array of arrays has arrays of another form");
        }
        let number_type = NumberType::of(self.marker()?)?;
        let count = self.size(marker - 0xF2)?;
        let arrays = self.size(marker - 0xF2)?;
        let mut array = Vec::new();
        for _ in 0..arrays {
            self.count_text(2)?;
            array.push(self.numbers(number_type, count)?);
        }
        Ok(Value::Array(array))
    }

    fn numbers(&mut self, number_type: NumberType, count: usize) -> ReadResult<Value> {
        let mut numbers = Vec::new();
        for _ in 0..count {
            self.count_text(2)?;
            numbers.push(self.typed(number_type)?);
        }
        Ok(Value::Array(numbers))
    }

    fn typed(&mut self, number_type: NumberType) -> ReadResult<Value> {
        let whole = |value: i64| Ok(Value::from(value));
        match number_type {
            NumberType::U8 => whole(i64::from(u8::from_le_bytes(self.array()?))),
            NumberType::I8 => whole(i64::from(i8::from_le_bytes(self.array()?))),
            NumberType::I16 => whole(i64::from(i16::from_le_bytes(self.array()?))),
            NumberType::I32 => whole(i64::from(i32::from_le_bytes(self.array()?))),
            NumberType::I64 => whole(i64::from_le_bytes(self.array()?)),
            NumberType::F32 => finite(f64::from(f32::from_le_bytes(self.array()?))),
            NumberType::F64 => finite(f64::from_le_bytes(self.array()?)),
        }
    }
}

fn finite(value: f64) -> ReadResult<Value> {
    if value.is_finite() {
        Ok(Value::from(value))
    } else {
        malformed("a number is infinite or not a number")
    }
}
