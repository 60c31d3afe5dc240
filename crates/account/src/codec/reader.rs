//! Decoding of numbers, lengths and lists from untrusted bytes.

use bytes::{Buf, Bytes};

/// Decodes a value from the front of the input; none if the input does not begin with such a value.
pub(super) trait Decode: Sized {
    /// The smallest encoding of the type; it bounds the number of values that an input can have.
    const BYTES_MIN: usize;

    fn read(input: &mut Bytes) -> Option<Self>;
}

/// Decodes one value that must fill the whole input.
pub(super) fn read_whole<T: Decode>(mut input: Bytes) -> Option<T> {
    let value = T::read(&mut input)?;
    input.is_empty().then_some(value)
}

impl Decode for u8 {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<u8> {
        input.try_get_u8().ok()
    }
}

impl Decode for u16 {
    const BYTES_MIN: usize = 2;

    fn read(input: &mut Bytes) -> Option<u16> {
        input.try_get_u16_le().ok()
    }
}

impl Decode for u64 {
    const BYTES_MIN: usize = 8;

    fn read(input: &mut Bytes) -> Option<u64> {
        input.try_get_u64_le().ok()
    }
}

impl Decode for bool {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<bool> {
        match u8::read(input)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Decode> Decode for Option<T> {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<Option<T>> {
        if bool::read(input)? {
            T::read(input).map(Some)
        } else {
            Some(None)
        }
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    const BYTES_MIN: usize = A::BYTES_MIN + B::BYTES_MIN;

    fn read(input: &mut Bytes) -> Option<(A, B)> {
        Some((A::read(input)?, B::read(input)?))
    }
}

impl<T: Decode> Decode for Vec<T> {
    const BYTES_MIN: usize = 4;

    fn read(input: &mut Bytes) -> Option<Vec<T>> {
        let count = read_length(input)?;
        if count > input.len() / T::BYTES_MIN {
            return None;
        }
        // The list grows element by element: an element may be larger in memory than in its
        // encoding, so the announced count must not reserve memory.
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(T::read(input)?);
        }
        Some(elements)
    }
}

impl Decode for Bytes {
    const BYTES_MIN: usize = 4;

    fn read(input: &mut Bytes) -> Option<Bytes> {
        let length = read_length(input)?;
        (length <= input.len()).then(|| input.split_to(length))
    }
}

impl Decode for String {
    const BYTES_MIN: usize = 4;

    fn read(input: &mut Bytes) -> Option<String> {
        let bytes = Bytes::read(input)?;
        std::str::from_utf8(&bytes).ok().map(str::to_owned)
    }
}

fn read_length(input: &mut Bytes) -> Option<usize> {
    usize::try_from(input.try_get_u32_le().ok()?).ok()
}
