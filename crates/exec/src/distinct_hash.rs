//! The 128-bit hash by which the query language distinguishes values.
//!
//! Clients compute the same hash. It decides `DISTINCT`, it orders arrays among arrays and objects
//! among objects, and it represents them where an `ORDER BY` resumes. Equal values have equal
//! hashes, whatever the order of their properties. `tests/data/function-vectors.json` pins the
//! recorded hashes.

use std::borrow::Borrow;

use orrery_json::{Number, Value};

/// `MurmurHash3` of a value. Hashes compare as their sixteen little-endian bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DistinctHash {
    pub low: u64,
    pub high: u64,
}

impl DistinctHash {
    /// The hash of a value.
    pub fn of(value: &Value) -> DistinctHash {
        hash(value, ROOT_SEED)
    }

    /// The hash of a list whose elements may be undefined; each position counts.
    pub(crate) fn of_cells<V: Borrow<Value>>(cells: &[V]) -> DistinctHash {
        elements(cells.iter().map(Borrow::borrow), ROOT_SEED)
    }

    pub fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.low.to_le_bytes());
        bytes[8..].copy_from_slice(&self.high.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> DistinctHash {
        let both = u128::from_le_bytes(bytes);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let (low, high) = (both as u64, (both >> 64) as u64);
        DistinctHash { low, high }
    }
}

impl Ord for DistinctHash {
    // Comparing the swapped halves compares the little-endian bytes from the first one on.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |hash: &Self| (hash.low.swap_bytes(), hash.high.swap_bytes());
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for DistinctHash {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

const fn seed(low: u64, high: u64) -> DistinctHash {
    DistinctHash { low, high }
}

// The seeds are constants of the service; clients use the same ones.
const ROOT_SEED: DistinctHash = seed(0xbfc2_359e_afc0_e2b7, 0x8846_e002_84c4_cf1f);
const NULL: DistinctHash = seed(0x1380_f68b_b3b0_cfe4, 0x156c_918b_f564_ee48);
const FALSE: DistinctHash = seed(0xc1be_517f_e893_b40c, 0xe9fc_8a4c_531c_d0dd);
const TRUE: DistinctHash = seed(0xf86d_4abf_9a41_2e74, 0x7884_8836_5c8a_985d);
const STRING: DistinctHash = seed(0x61f5_3f0a_4420_4cfb, 0x0948_1be8_ef4b_56dd);
const ARRAY: DistinctHash = seed(0xfa57_3b01_4c4d_c18e, 0xa014_512c_858e_b115);
const OBJECT: DistinctHash = seed(0x77b2_85ac_511a_ef30, 0x3dcf_1872_4582_2449);
const ARRAY_INDEX: DistinctHash = seed(0xfe05_7204_216d_b999, 0x5b1c_c317_8bd9_c593);
const PROPERTY_NAME: DistinctHash = seed(0xc915_dde0_5849_2a8a, 0x7c8b_e2eb_a72e_4634);
const NUMBER: DistinctHash = seed(0x2400_e8b8_94ce_9c2a, 0x790b_e1ea_bd7b_9481);

/// Hashes a value with a seed, which distinguishes array positions and property names.
fn hash(value: &Value, seed: DistinctHash) -> DistinctHash {
    match value {
        Value::Undefined => seed,
        Value::Null => murmur(&NULL.bytes(), seed),
        Value::Bool(false) => murmur(&FALSE.bytes(), seed),
        Value::Bool(true) => murmur(&TRUE.bytes(), seed),
        Value::Number(number) => murmur(&number_bytes(*number), murmur(&NUMBER.bytes(), seed)),
        Value::String(text) => murmur(text.as_bytes(), murmur(&STRING.bytes(), seed)),
        Value::Array(array) => elements(array.iter(), seed),
        Value::Object(properties) => {
            // Exclusive or is commutative, so the order of properties does not matter.
            let mut both = DistinctHash::default();
            for (name, value) in properties {
                let name = murmur(name.as_bytes(), murmur(&STRING.bytes(), PROPERTY_NAME));
                let property = hash(value, name);
                both.low ^= property.low;
                both.high ^= property.high;
            }
            let object = murmur(&OBJECT.bytes(), seed);
            // An object without properties hashes as its type alone.
            if both == DistinctHash::default() {
                object
            } else {
                murmur(&both.bytes(), object)
            }
        }
    }
}

/// Hashes an array: each defined element with a seed of its index.
fn elements<'a>(elements: impl Iterator<Item = &'a Value>, seed: DistinctHash) -> DistinctHash {
    let mut array = murmur(&ARRAY.bytes(), seed);
    for (index, element) in elements.enumerate() {
        // An undefined element changes the result only through the positions of the others.
        if !element.is_undefined() {
            let place = DistinctHash {
                low: ARRAY_INDEX.low.wrapping_add(index as u64),
                ..ARRAY_INDEX
            };
            array = murmur(&hash(element, place).bytes(), array);
        }
    }
    array
}

/// The double of a number, and sixteen bits for the part of an integer beyond 53 bits.
fn number_bytes(number: Number) -> [u8; 10] {
    let (double, extra) = match number {
        Number::Int(integer) => split(integer),
        Number::Float(double) => (double, 0),
    };
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&double.to_le_bytes());
    bytes[8..].copy_from_slice(&extra.to_le_bytes());
    bytes
}

/// The double next to zero from `integer`, and the ten bits below its mantissa, left-aligned.
fn split(integer: i64) -> (f64, u16) {
    let size = integer.unsigned_abs();
    let bits = 64 - size.leading_zeros();
    if bits <= 53 || bits - size.trailing_zeros() <= 53 {
        return (Number::Int(integer).as_f64(), 0);
    }
    let dropped = bits - 53;
    let kept = size >> dropped << dropped;
    let below = (size - kept) << (16 - dropped);
    #[expect(clippy::cast_precision_loss, reason = "53 bits are left")]
    let double = kept as f64;
    let extra = u16::try_from(below).unwrap_or(u16::MAX);
    (if integer < 0 { -double } else { double }, extra)
}

/// `MurmurHash3` for x64 with 128 bits, with a seed for each half of the state.
fn murmur(bytes: &[u8], seed: DistinctHash) -> DistinctHash {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |word: u64| word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |word: u64| word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let (mut h1, mut h2) = (seed.low, seed.high);
    let blocks = bytes.chunks_exact(16);
    let tail = blocks.remainder();
    for block in blocks {
        h1 ^= mix1(word(&block[..8]));
        h1 = h1.rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2(word(&block[8..]));
        h2 = h2.rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (first, second) = tail.split_at(tail.len().min(8));
    h2 ^= mix2(word(second));
    h1 ^= mix1(word(first));
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    DistinctHash { low: h1, high: h2 }
}

/// The finalisation mix of `MurmurHash3`.
fn finish(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^= word >> 33;
    word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

#[cfg(test)]
mod tests {
    use orrery_json::{parse, parse_bounded};

    use super::*;

    #[test]
    fn recorded_hashes() {
        let data = include_bytes!("../tests/data/function-vectors.json");
        let data = parse_bounded(data, 128).unwrap();
        let vectors = data.get("distinctHashVectors").as_array().unwrap();
        assert_eq!(vectors.len(), 39);
        for vector in vectors {
            let text = vector.get("value").as_str().unwrap();
            let hash = DistinctHash::of(&parse_bounded(text.as_bytes(), 128).unwrap());
            let printed = format!("{:016x}{:016x}", hash.high, hash.low);
            assert_eq!(Some(&*printed), vector.get("hash").as_str(), "{text}");
        }
    }

    #[test]
    fn equality_decides_the_hash() {
        for (a, b, equal) in [
            (r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#, true),
            ("[1,2]", "[2,1]", false),
            ("9007199254740993", "9007199254740992", false),
            ("9223372036854775807", "9223372036854775806", false),
            ("-9223372036854775807", "-9223372036854775806", false),
            ("1152921504606846976", "1.152921504606846976e18", true),
        ] {
            let [a_hash, b_hash] =
                [a, b].map(|text| DistinctHash::of(&parse(text.as_bytes()).unwrap()));
            assert_eq!(a_hash == b_hash, equal, "{a} {b}");
            assert_eq!(DistinctHash::from_bytes(a_hash.bytes()), a_hash);
        }
        let cells = [Value::Undefined, Value::Null];
        let swapped = [Value::Null, Value::Undefined];
        assert_ne!(
            DistinctHash::of_cells(&cells),
            DistinctHash::of_cells(&swapped)
        );
    }
}
