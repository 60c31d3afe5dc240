//! Numbers, lengths and lists, written.

/// Appends a value to what is written.
pub(super) trait Encode {
    fn write(&self, out: &mut Vec<u8>);
}

impl Encode for u8 {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl Encode for u16 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl Encode for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl Encode for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl<T: Encode> Encode for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        write_length(self.len(), out);
        for element in self {
            element.write(out);
        }
    }
}

impl Encode for bytes::Bytes {
    fn write(&self, out: &mut Vec<u8>) {
        write_sized(self, out);
    }
}

impl Encode for String {
    fn write(&self, out: &mut Vec<u8>) {
        write_sized(self.as_bytes(), out);
    }
}

pub(super) fn write_sized(bytes: &[u8], out: &mut Vec<u8>) {
    write_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

pub(super) fn write_length(length: usize, out: &mut Vec<u8>) {
    let length = u32::try_from(length).expect("records, pages and pieces are bounded by limits");
    out.extend_from_slice(&length.to_le_bytes());
}
