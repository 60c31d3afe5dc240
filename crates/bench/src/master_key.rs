//! The key that the driver signs with; it is not printed with the options.

use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

#[derive(Clone)]
pub struct MasterKey(String);

impl FromStr for MasterKey {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<MasterKey, Infallible> {
        Ok(MasterKey(text.to_owned()))
    }
}

impl Deref for MasterKey {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_printed() {
        let key: MasterKey = "c2VjcmV0".parse().unwrap();
        assert_eq!(&*key, "c2VjcmV0");
        assert_eq!(format!("{key:?}"), "MasterKey(..)");
    }
}
