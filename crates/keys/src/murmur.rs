//! `MurmurHash3` with seed zero, in the two widths the protocol uses.

/// The 32-bit variant.
pub(crate) fn murmur3_32(data: &[u8]) -> u32 {
    let (blocks, tail) = data.as_chunks::<4>();
    let mut hash = blocks.iter().fold(0, |hash: u32, block| {
        (hash ^ scramble_32(u32::from_le_bytes(*block)))
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xE654_6B64)
    });
    let mut last = [0; 4];
    last[..tail.len()].copy_from_slice(tail);
    hash ^= scramble_32(u32::from_le_bytes(last));
    hash ^= length_32(data);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}

fn scramble_32(block: u32) -> u32 {
    block
        .wrapping_mul(0xCC9E_2D51)
        .rotate_left(15)
        .wrapping_mul(0x1B87_3593)
}

const C1: u64 = 0x87C3_7B91_1142_53D5;
const C2: u64 = 0x4CF5_AD43_2745_937F;

/// The 128-bit variant for 64-bit machines. The first half is in the low 64 bits.
pub(crate) fn murmur3_128(data: &[u8]) -> u128 {
    let (blocks, tail) = data.as_chunks::<16>();
    let (mut h1, mut h2) = (0_u64, 0_u64);
    for block in blocks {
        let (k1, k2) = halves(u128::from_le_bytes(*block));
        h1 = (h1 ^ scramble_low(k1))
            .rotate_left(27)
            .wrapping_add(h2)
            .wrapping_mul(5)
            .wrapping_add(0x52DC_E729);
        h2 = (h2 ^ scramble_high(k2))
            .rotate_left(31)
            .wrapping_add(h1)
            .wrapping_mul(5)
            .wrapping_add(0x3849_5AB5);
    }
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    let (k1, k2) = halves(u128::from_le_bytes(last));
    h1 ^= scramble_low(k1) ^ length(data);
    h2 ^= scramble_high(k2) ^ length(data);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish_64(h1);
    h2 = finish_64(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    u128::from(h2) << 64 | u128::from(h1)
}

fn scramble_low(block: u64) -> u64 {
    block.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble_high(block: u64) -> u64 {
    block.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish_64(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the halves are taken apart"
)]
fn halves(block: u128) -> (u64, u64) {
    (block as u64, (block >> 64) as u64)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the hash is defined modulo 2^32"
)]
fn length_32(data: &[u8]) -> u32 {
    data.len() as u32
}

fn length(data: &[u8]) -> u64 {
    data.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes_32() {
        for (text, expected) in [
            ("", 0),
            ("\0", 0x514E_28B7),
            ("test", 0xBA6B_D213),
            ("Hello, world!", 0xC036_3E43),
            ("The quick brown fox jumps over the lazy dog", 0x2E4F_F723),
        ] {
            assert_eq!(murmur3_32(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn known_hashes_128() {
        for (text, h1, h2) in [
            ("", 0, 0),
            ("hello", 0xCBD8_A7B3_41BD_9B02, 0x5B1E_906A_48AE_1D19),
            (
                "The quick brown fox jumps over the lazy dog",
                0xE34B_BC7B_BC07_1B6C,
                0x7A43_3CA9_C49A_9347,
            ),
        ] {
            let (low, high) = halves(murmur3_128(text.as_bytes()));
            assert_eq!((low, high), (h1, h2), "{text}");
        }
    }
}
