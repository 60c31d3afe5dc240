//! What a container may hold and holds, in the words of the service: a header says it to clients,
//! and the response of a post-trigger to scripts.

/// The size that is stated for a container. Nothing enforces it.
pub const CONTAINER_KILOBYTES_STATED: u64 = 10_485_760;

pub const QUOTA_TEXT: &str =
    "documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;";

pub fn usage_text(documents: u64, kilobytes: u64) -> String {
    format!(
        "documentSize=0;documentsSize={kilobytes};documentsCount={documents};\
         collectionSize={kilobytes};"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert!(QUOTA_TEXT.ends_with(&format!("collectionSize={CONTAINER_KILOBYTES_STATED};")));
        assert_eq!(
            usage_text(2, 1),
            "documentSize=0;documentsSize=1;documentsCount=2;collectionSize=1;"
        );
    }
}
