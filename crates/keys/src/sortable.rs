//! Encodings whose byte order equals the order of the encoded values.

use crate::KeyComponent;

const SIGN: u64 = 1 << 63;

/// Bits whose integer order equals the order of the numbers. Both zeros have the same bits.
pub fn sortable_number(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits & SIGN == 0 {
        bits | SIGN
    } else {
        bits.wrapping_neg()
    }
}

/// The inverse of [`sortable_number`]. The bits of zero decode to positive zero.
pub fn number_from_sortable(bits: u64) -> f64 {
    f64::from_bits(if bits & SIGN == 0 {
        bits.wrapping_neg()
    } else {
        bits ^ SIGN
    })
}

/// Appends a self-delimiting encoding that sorts like the bytes themselves, with a prefix before
/// its extensions.
///
/// A zero byte inside becomes `00 FF`, and the encoding ends with `00 00`.
pub fn write_sortable_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for (index, run) in bytes.split(|&byte| byte == 0).enumerate() {
        if index > 0 {
            out.extend_from_slice(&[0, 0xFF]);
        }
        out.extend_from_slice(run);
    }
    out.extend_from_slice(&[0, 0]);
}

/// Decodes the bytes that [`write_sortable_bytes`] wrote at the start of `encoded`, and returns the
/// rest after them. `None` when the terminator is missing.
pub fn read_sortable_bytes(encoded: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut bytes = Vec::new();
    let mut rest = encoded;
    loop {
        let zero = rest.iter().position(|&byte| byte == 0)?;
        bytes.extend_from_slice(&rest[..zero]);
        let mark = *rest.get(zero + 1)?;
        rest = &rest[zero + 2..];
        match mark {
            0 => return Some((bytes, rest)),
            0xFF => bytes.push(0),
            _ => return None,
        }
    }
}

/// The type marker that begins the encoding of a component, in effective partition keys and in hash
/// inputs.
pub(crate) fn marker(component: &KeyComponent) -> u8 {
    match component {
        KeyComponent::Undefined => 0x00,
        KeyComponent::Null => 0x01,
        KeyComponent::Bool(false) => 0x02,
        KeyComponent::Bool(true) => 0x03,
        KeyComponent::Number(_) => NUMBER,
        KeyComponent::String(_) => STRING,
    }
}

const NUMBER: u8 = 0x05;
pub(crate) const STRING: u8 = 0x08;

/// Appends the number in the encoding of version 1 effective partition keys: the eight highest
/// bits, then groups of seven bits, each with a low bit that marks a following group.
pub(crate) fn write_epk_number(number: f64, out: &mut Vec<u8>) {
    out.push(NUMBER);
    let mut rest = sortable_number(number);
    out.push(top_byte(rest));
    rest <<= 8;
    loop {
        let group = top_byte(rest);
        rest <<= 7;
        if rest == 0 {
            out.push(group & 0xFE);
            return;
        }
        out.push(group | 1);
    }
}

fn top_byte(bits: u64) -> u8 {
    bits.to_be_bytes()[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_sort() {
        let ascending = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -1.0,
            -5e-324,
            0.0,
            5e-324,
            1.0,
            1.5,
            f64::MAX,
            f64::INFINITY,
        ];
        assert!(ascending.is_sorted_by(|a, b| sortable_number(*a) < sortable_number(*b)));
        assert_eq!(sortable_number(-0.0), sortable_number(0.0));
    }

    #[test]
    fn unterminated_bytes_are_refused() {
        for encoded in [&[][..], &[1], &[0], &[0, 0xFF], &[0, 1]] {
            assert_eq!(read_sortable_bytes(encoded), None, "{encoded:?}");
        }
    }

    proptest! {
        #[test]
        fn number_order_is_byte_order(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(sortable_number(a).cmp(&sortable_number(b)), a.partial_cmp(&b).unwrap());
            prop_assert_eq!(number_from_sortable(sortable_number(a)).to_bits(), (a + 0.0).to_bits());
            let encode = |number| {
                let mut out = Vec::new();
                write_epk_number(number, &mut out);
                out
            };
            prop_assert_eq!(encode(a).cmp(&encode(b)), a.partial_cmp(&b).unwrap());
        }

        #[test]
        fn bytes_order_is_kept(
            a in proptest::collection::vec(0_u8..3, 0..6),
            b in proptest::collection::vec(0_u8..3, 0..6),
        ) {
            let encode = |bytes: &[u8]| {
                let mut out = Vec::new();
                write_sortable_bytes(bytes, &mut out);
                out.push(7);
                out
            };
            prop_assert_eq!(encode(&a).cmp(&encode(&b)), a.cmp(&b));
            let encoded = encode(&a);
            prop_assert_eq!(read_sortable_bytes(&encoded), Some((a, &[7][..])));
        }
    }
}
