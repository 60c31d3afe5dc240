//! The name of a region in certificates.

use std::fmt;

const DOMAIN: &str = "orrery.internal";
/// The limit for one label of a DNS name.
const LENGTH_MAX: usize = 63;

/// A region's name in lower case with hyphens; names that differ only in case and punctuation are
/// the same region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slug(String);

impl Slug {
    /// None if the name contains no letter or digit or exceeds the length limit.
    pub(crate) fn new(name: &str) -> Option<Slug> {
        let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let slug = words.join("-").to_ascii_lowercase();
        (!slug.is_empty() && slug.len() <= LENGTH_MAX).then_some(Slug(slug))
    }

    pub(crate) fn dns_name(&self) -> String {
        format!("{}.{DOMAIN}", self.0)
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_parts_of_dns_names() {
        for (name, slug) in [
            ("West US 2", Some("west-us-2")),
            ("west-us-2", Some("west-us-2")),
            (" a..B_ ", Some("a-b")),
            ("", None),
            ("--", None),
            (&"a".repeat(64), None),
        ] {
            assert_eq!(Slug::new(name).map(|slug| slug.0).as_deref(), slug);
        }
        let name = Slug::new("West US").unwrap().dns_name();
        assert_eq!(name, "west-us.orrery.internal");
    }
}
