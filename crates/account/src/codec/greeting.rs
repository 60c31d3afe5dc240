//! The greeting that both ends of a connection send first.

use bytes::Bytes;

use super::VERSION;
use super::reader::{Decode, read_whole};
use super::writer::Encode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) account: String,
    /// Regions, by name.
    pub(crate) from: String,
    pub(crate) to: String,
    /// Whether the greeting region has a number in the account; without one it founds or joins an
    /// account.
    pub(crate) is_placed: bool,
}

impl Greeting {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        self.account.write(&mut out);
        self.from.write(&mut out);
        self.to.write(&mut out);
        self.is_placed.write(&mut out);
        out
    }

    pub(crate) fn decode(mut bytes: Bytes) -> Option<Greeting> {
        if u8::read(&mut bytes)? != VERSION {
            return None;
        }
        let (((account, from), to), is_placed) = read_whole(bytes)?;
        Some(Greeting {
            account,
            from,
            to,
            is_placed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_read_back() {
        let greeting = Greeting {
            account: "a".to_owned(),
            from: "West US".to_owned(),
            to: String::new(),
            is_placed: true,
        };
        let bytes = greeting.encode();
        for cut in 0..bytes.len() {
            assert_eq!(
                Greeting::decode(Bytes::copy_from_slice(&bytes[..cut])),
                None
            );
        }
        assert_eq!(Greeting::decode(bytes.into()), Some(greeting));
    }
}
