//! The partial JSON parser: text to the needed parts of a value.
//!
//! A scan needs a few properties of a document. This parser skips every other property by its
//! quotes and brackets alone, and leaves an object once it has found all needed properties.
//! Unexpected input aborts the partial parser, and the full parser parses the text.

use crate::field_mask::{FieldMask, Node, WHOLE};
use crate::parse::DEPTH_MAX;
use crate::scan::{quote_or_backslash, string_end};
use crate::{NameHasher, Number, Object, ParseError, Value, parse};

/// A number of this many decimal digits always fits into an `i64`.
const DIGITS_MAX: usize = 18;

/// Reads the parts of the JSON in `text` that `field_mask` includes.
///
/// At each included path the result equals the result of [`parse`], including `Undefined`. At other
/// paths the result may have more or fewer values. An array on the path to needed elements keeps
/// its length and has `null` for every element without a needed part. Skipped text is not
/// validated, and a repeated name after the last needed property is not seen. Both are safe because
/// the text is a stored document, which is valid and has no repeated names.
pub fn parse_fields(text: &[u8], fields: &FieldMask) -> Result<Value, ParseError> {
    let root = fields.root();
    if !root.is_whole {
        let mut reader = FieldReader { text, at: 0 };
        if let Some(value) = reader.root(root) {
            return Ok(value);
        }
    }
    parse(text)
}

struct FieldReader<'a> {
    text: &'a [u8],
    at: usize,
}

/// Every method returns `None` for text that only the full parser can judge.
impl<'a> FieldReader<'a> {
    fn root(&mut self, node: &Node) -> Option<Value> {
        match self.peek()? {
            b'{' => self.object(node, DEPTH_MAX - 1, true),
            _ => None,
        }
    }

    /// Returns `Undefined` when the mask needs no part of a value of this type.
    fn value(&mut self, node: &Node, depth_left: usize) -> Option<Value> {
        match self.peek()? {
            b'{' if node.is_whole || !node.names.is_empty() => {
                self.object(node, depth_left.checked_sub(1)?, false)
            }
            b'[' if node.is_whole || node.elements.is_some() => {
                self.array(node, depth_left.checked_sub(1)?)
            }
            _ if node.is_whole => self.scalar(),
            _ => self.skip().map(|()| Value::Undefined),
        }
    }

    fn object(&mut self, node: &Node, depth_left: usize, is_root: bool) -> Option<Value> {
        self.at += 1;
        let mut object = Object::with_capacity_and_hasher(node.names.len(), NameHasher::default());
        let mut missing = Missing::new(node);
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(Value::Object(object));
        }
        loop {
            if missing.is_empty() {
                // The root object is the whole text, so there is no end to find.
                if !is_root {
                    self.skip_to_end()?;
                }
                return Some(Value::Object(object));
            }
            let name = self.name()?;
            let wanted = match &name {
                Name::Plain(name) => find(node, name),
                Name::Escaped(name) => find(node, name.as_bytes()),
            };
            self.expect(b':')?;
            match wanted {
                None => {
                    self.peek()?;
                    self.skip()?;
                }
                Some((index, child)) => {
                    missing.remove(index);
                    let value = self.value(child, depth_left)?;
                    let name = match name {
                        Name::Plain(name) => str::from_utf8(name).ok()?.to_owned(),
                        Name::Escaped(name) => name,
                    };
                    // A repeated name: the later value replaces the earlier one, even if it has no
                    // needed part.
                    if value.is_undefined() {
                        object.shift_remove(&name);
                    } else {
                        object.insert(name, value);
                    }
                }
            }
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(Value::Object(object));
                }
                _ => return None,
            }
        }
    }

    fn array(&mut self, node: &Node, depth_left: usize) -> Option<Value> {
        let element = match &node.elements {
            Some(element) if !node.is_whole => element,
            _ => &WHOLE,
        };
        self.at += 1;
        let mut array = Vec::new();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(Value::Array(array));
        }
        loop {
            array.push(match self.value(element, depth_left)? {
                Value::Undefined => Value::Null,
                value => value,
            });
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(Value::Array(array));
                }
                _ => return None,
            }
        }
    }

    fn scalar(&mut self) -> Option<Value> {
        let start = self.at;
        if self.text[start] == b'"' {
            let stop = quote_or_backslash(self.text, start + 1)?;
            if self.text[stop] == b'"' {
                self.at = stop + 1;
                let text = str::from_utf8(&self.text[start + 1..stop]).ok()?;
                return Some(Value::from(text));
            }
            self.at = string_end(self.text, stop)?;
            return parse(&self.text[start..self.at]).ok();
        }
        self.skip_scalar()?;
        match &self.text[start..self.at] {
            b"true" => Some(Value::Bool(true)),
            b"false" => Some(Value::Bool(false)),
            b"null" => Some(Value::Null),
            number => match integer(number) {
                Some(integer) => Some(Value::Number(Number::Int(integer))),
                None => parse(number).ok(),
            },
        }
    }

    /// Skips the value at the current position.
    fn skip(&mut self) -> Option<()> {
        match *self.text.get(self.at)? {
            b'"' => {
                self.at = string_end(self.text, self.at + 1)?;
                Some(())
            }
            b'{' | b'[' => {
                self.at += 1;
                self.skip_to_end()
            }
            _ => self.skip_scalar(),
        }
    }

    fn skip_scalar(&mut self) -> Option<()> {
        let is_part =
            |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'-' | b'+' | b'.' | b'E');
        let rest = self.text.get(self.at..)?;
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        self.at += length;
        (length > 0).then_some(())
    }

    /// Skips the rest of the current array or object, including its closing bracket.
    fn skip_to_end(&mut self) -> Option<()> {
        let mut depth = 1_usize;
        loop {
            let rest = self.text.get(self.at..)?;
            let marks = |byte: &u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']');
            self.at += rest.iter().position(marks)? + 1;
            match self.text[self.at - 1] {
                b'"' => self.at = string_end(self.text, self.at)?,
                b'{' | b'[' => depth += 1,
                _ => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(());
                    }
                }
            }
        }
    }

    fn name(&mut self) -> Option<Name<'a>> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at;
        let stop = quote_or_backslash(self.text, start + 1)?;
        if self.text[stop] == b'"' {
            self.at = stop + 1;
            return Some(Name::Plain(&self.text[start + 1..stop]));
        }
        self.at = string_end(self.text, stop)?;
        match parse(&self.text[start..self.at]).ok()? {
            Value::String(name) => Some(Name::Escaped(name)),
            _ => None,
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Skips white space and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }
}

enum Name<'a> {
    Plain(&'a [u8]),
    Escaped(String),
}

fn find<'n>(node: &'n Node, name: &[u8]) -> Option<(usize, &'n Node)> {
    if node.is_whole {
        return Some((0, &WHOLE));
    }
    let mut names = node.names.iter().enumerate();
    names
        .find(|(_, (known, _))| known.as_bytes() == name)
        .map(|(index, (_, child))| (index, child))
}

/// A bit set of the needed names that the parser has not yet found in the current object.
struct Missing(u64);

impl Missing {
    fn new(node: &Node) -> Missing {
        match u32::try_from(node.names.len()) {
            Ok(names) if names < u64::BITS && !node.is_whole => Missing((1 << names) - 1),
            _ => Missing(u64::MAX),
        }
    }

    /// The last bit is never cleared, neither for a node with more names than bits nor for a whole
    /// node, so the object is then read to its end.
    fn remove(&mut self, index: usize) {
        if index + 1 < u64::BITS as usize {
            self.0 &= !(1 << index);
        }
    }

    fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

/// Decodes the common form of a number. `None` leaves other forms to the full parser.
fn integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || digits.len() > DIGITS_MAX || digits[0] == b'0' && digits.len() > 1 {
        return None;
    }
    let mut number = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(digit - b'0');
    }
    Some(if is_negative { -number } else { number })
}
