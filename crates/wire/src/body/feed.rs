//! The envelope of a feed, around resources that are already JSON text.

use std::fmt::Display;
use std::io::Write as _;

use orrery_model::ScriptKind;

/// The resources of a feed. SDKs compare the key of the array exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedKind {
    Databases,
    Containers,
    Items,
    PartitionKeyRanges,
    Scripts(ScriptKind),
    Conflicts,
    Users,
    Permissions,
    ClientEncryptionKeys,
    Offers,
}

impl FeedKind {
    /// The key of the array in the envelope.
    pub fn envelope_key(self) -> &'static str {
        match self {
            FeedKind::Databases => "Databases",
            FeedKind::Containers => "DocumentCollections",
            FeedKind::Items => "Documents",
            FeedKind::PartitionKeyRanges => "PartitionKeyRanges",
            FeedKind::Scripts(ScriptKind::StoredProcedure) => "StoredProcedures",
            FeedKind::Scripts(ScriptKind::Trigger) => "Triggers",
            FeedKind::Scripts(ScriptKind::Function) => "UserDefinedFunctions",
            FeedKind::Conflicts => "Conflicts",
            FeedKind::Users => "Users",
            FeedKind::Permissions => "Permissions",
            FeedKind::ClientEncryptionKeys => "ClientEncryptionKeys",
            FeedKind::Offers => "Offers",
        }
    }
}

/// Writes the elements of a feed directly into its body.
pub struct FeedWriter {
    body: Vec<u8>,
    count: usize,
}

impl FeedWriter {
    /// A new feed. `bytes` is the approximate size of all elements. The parent of a feed at the
    /// root has the empty id.
    pub fn new(parent_rid: impl Display, kind: FeedKind, bytes: usize) -> FeedWriter {
        // The envelope takes less than 96 bytes, so the body is allocated once.
        let mut body = Vec::with_capacity(bytes + 96);
        let key = kind.envelope_key();
        write!(body, "{{\"_rid\":\"{parent_rid}\",\"{key}\":[").expect("a vector takes any bytes");
        FeedWriter { body, count: 0 }
    }

    /// Begins the next element, and returns the buffer for its text.
    pub fn element(&mut self) -> &mut Vec<u8> {
        if self.count > 0 {
            self.body.push(b',');
        }
        self.count += 1;
        &mut self.body
    }

    /// Appends the element count, which the writer knows only at the end.
    pub fn finish(mut self) -> Vec<u8> {
        write!(self.body, "],\"_count\":{}}}", self.count).expect("a vector takes any bytes");
        self.body
    }
}

/// `{"_rid":"…","Documents":[…],"_count":n}`. The parent of a feed at the root has the empty id.
pub fn feed_body<T: AsRef<[u8]>>(
    parent_rid: impl Display,
    kind: FeedKind,
    elements: &[T],
) -> Vec<u8> {
    let bytes: usize = elements
        .iter()
        .map(|element| element.as_ref().len() + 1)
        .sum();
    let mut feed = FeedWriter::new(parent_rid, kind, bytes);
    for element in elements {
        feed.element().extend_from_slice(element.as_ref());
    }
    feed.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_always_count() {
        let text = |body: Vec<u8>| String::from_utf8(body).unwrap();
        let none: [&str; 0] = [];
        assert_eq!(
            text(feed_body("", FeedKind::Databases, &none)),
            r#"{"_rid":"","Databases":[],"_count":0}"#
        );
        assert_eq!(
            text(feed_body("r", FeedKind::Items, &["{}", "1"])),
            r#"{"_rid":"r","Documents":[{},1],"_count":2}"#
        );
    }
}
