//! The storage quota and the usage of a container, in the form of Cosmos DB. Clients receive both
//! in headers, and scripts in the response of a post-trigger.

/// The size limit that answers state for a container. Orrery does not enforce it.
pub const CONTAINER_KILOBYTES_STATED: u64 = 10_485_760;

pub const QUOTA_TEXT: &str =
    "documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;";

/// The quota of scripts. The kinds have the order of [`script_usage_text`].
pub const SCRIPT_QUOTA_TEXT: &str = "storedProcedures=100;triggers=25;functions=50;";

pub fn script_usage_text([procedures, triggers, functions]: [usize; 3]) -> String {
    format!("storedProcedures={procedures};triggers={triggers};functions={functions};")
}

pub fn usage_text(documents: u64, kilobytes: u64) -> String {
    format!(
        "documentSize=0;documentsSize={kilobytes};documentsCount={documents};\
         collectionSize={kilobytes};"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn quota_and_usage_texts() {
        let limits = [
            limits::STORED_PROCEDURES_MAX,
            limits::TRIGGERS_MAX,
            limits::FUNCTIONS_MAX,
        ];
        assert_eq!(script_usage_text(limits), SCRIPT_QUOTA_TEXT);
        assert!(QUOTA_TEXT.ends_with(&format!("collectionSize={CONTAINER_KILOBYTES_STATED};")));
        assert_eq!(
            usage_text(2, 1),
            "documentSize=0;documentsSize=1;documentsCount=2;collectionSize=1;"
        );
    }
}
