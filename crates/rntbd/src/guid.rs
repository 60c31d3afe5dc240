//! GUIDs as frames have them: the first three groups are little-endian numbers.

use std::fmt;

/// A GUID in the order of bytes that a frame has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Guid(pub [u8; 16]);

impl fmt::Display for Guid {
    /// The usual text: `00112233-4455-6677-8899-aabbccddeeff`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [group1 @ .., _, _, _, _, _, _, _, _, _, _, _, _] = self.0;
        let [_, _, _, _, low2, high2, low3, high3, rest @ ..] = self.0;
        let [byte1, byte2, node @ ..] = rest;
        let first = u32::from_le_bytes(group1);
        let (second, third) = (
            u16::from_le_bytes([low2, high2]),
            u16::from_le_bytes([low3, high3]),
        );
        write!(
            f,
            "{first:08x}-{second:04x}-{third:04x}-{byte1:02x}{byte2:02x}-"
        )?;
        node.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_groups_are_little_endian() {
        let guid = Guid([
            0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
            0xee, 0xff,
        ]);
        assert_eq!(guid.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
