//! Numbers, lengths and lists, read from bytes that nobody vouches for.

use bytes::{Buf, Bytes};

/// Takes a value off the front of what is left to read; none if it does not begin with one.
pub(super) trait Read: Sized {
    /// The fewest bytes that one takes: bounds how many of them an input can hold.
    const BYTES_MIN: usize;

    fn read(input: &mut Bytes) -> Option<Self>;
}

/// Reads one value that must be all there is.
pub(super) fn read_whole<T: Read>(mut input: Bytes) -> Option<T> {
    let value = T::read(&mut input)?;
    input.is_empty().then_some(value)
}

impl Read for u8 {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<u8> {
        input.try_get_u8().ok()
    }
}

impl Read for u16 {
    const BYTES_MIN: usize = 2;

    fn read(input: &mut Bytes) -> Option<u16> {
        input.try_get_u16_le().ok()
    }
}

impl Read for u64 {
    const BYTES_MIN: usize = 8;

    fn read(input: &mut Bytes) -> Option<u64> {
        input.try_get_u64_le().ok()
    }
}

impl Read for bool {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<bool> {
        match u8::read(input)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Read> Read for Option<T> {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<Option<T>> {
        if bool::read(input)? {
            T::read(input).map(Some)
        } else {
            Some(None)
        }
    }
}

impl<A: Read, B: Read> Read for (A, B) {
    const BYTES_MIN: usize = A::BYTES_MIN + B::BYTES_MIN;

    fn read(input: &mut Bytes) -> Option<(A, B)> {
        Some((A::read(input)?, B::read(input)?))
    }
}

impl<T: Read> Read for Vec<T> {
    const BYTES_MIN: usize = 4;

    fn read(input: &mut Bytes) -> Option<Vec<T>> {
        let count = read_length(input)?;
        if count > input.len() / T::BYTES_MIN {
            return None;
        }
        // Elements may be larger in memory than in bytes: room is made as they turn out to be there.
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(T::read(input)?);
        }
        Some(elements)
    }
}

impl Read for Bytes {
    const BYTES_MIN: usize = 4;

    fn read(input: &mut Bytes) -> Option<Bytes> {
        let length = read_length(input)?;
        (length <= input.len()).then(|| input.split_to(length))
    }
}

impl Read for String {
    const BYTES_MIN: usize = 4;

    fn read(input: &mut Bytes) -> Option<String> {
        let bytes = Bytes::read(input)?;
        std::str::from_utf8(&bytes).ok().map(str::to_owned)
    }
}

fn read_length(input: &mut Bytes) -> Option<usize> {
    usize::try_from(input.try_get_u32_le().ok()?).ok()
}
