//! `x-orrery-query-plan`: the plan of a page, with the expected and the actual figures.
//!
//! The header is Orrery's own. Its reader is a person with a slow query, so it is JSON with plain
//! lines; it must fit the limit of clients and proxies on the length of one header.

use serde::Serialize;

use crate::percent;

const HEADER_BYTES_MAX: usize = 8 * 1024;
/// The longest line. A filter may contain a list of thousands of values.
const LINE_CHARACTERS_MAX: usize = 500;

#[derive(Debug, Clone, Serialize)]
pub struct QueryPlanReport {
    /// The steps of the plan, followed by the rejected alternatives.
    pub plan: Vec<String>,
    pub estimated: PlanEstimate,
    pub actual: PlanCounts,
    pub microseconds: PlanTimes,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct PlanEstimate {
    pub entries: u64,
    pub documents: u64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct PlanCounts {
    pub entries: u64,
    pub documents: u64,
    pub rows: u64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct PlanTimes {
    pub compile: u64,
    pub plan: u64,
    pub index: u64,
    pub load: u64,
    pub total: u64,
}

impl QueryPlanReport {
    /// Percent-encoded JSON. Lines that do not fit are removed from the end of the plan, where the
    /// rejected alternatives are.
    pub fn header_value(mut self) -> String {
        for line in &mut self.plan {
            if let Some((end, _)) = line.char_indices().nth(LINE_CHARACTERS_MAX) {
                line.truncate(end);
                // The reader sees that the line was cut.
                line.push_str("...");
            }
        }
        loop {
            let json = serde_json::to_string(&self).expect("strings and numbers are JSON");
            let value = percent::encode_component(&json);
            // The figures stay even if no line of the plan fits.
            if value.len() <= HEADER_BYTES_MAX || self.plan.pop().is_none() {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(plan: Vec<String>) -> QueryPlanReport {
        QueryPlanReport {
            plan,
            estimated: PlanEstimate {
                entries: 1,
                documents: 2,
            },
            actual: PlanCounts {
                entries: 3,
                documents: 4,
                rows: 5,
            },
            microseconds: PlanTimes {
                compile: 6,
                plan: 7,
                index: 8,
                load: 9,
                total: 30,
            },
        }
    }

    #[test]
    fn a_client_reads_it_back() {
        let value = report(vec!["point /a/? = \"é\"".to_owned()]).header_value();
        let expected = r#"{"plan":["point /a/? = \"é\""],"estimated":{"entries":1,"documents":2},"actual":{"entries":3,"documents":4,"rows":5},"microseconds":{"compile":6,"plan":7,"index":8,"load":9,"total":30}}"#;
        assert_eq!(percent::decode(&value).unwrap(), expected);
        assert!(value.bytes().all(|byte| byte.is_ascii_graphic()));
    }

    #[test]
    fn a_header_has_room_for_the_first_lines() {
        let line = |number: usize| format!("{number} {}", "é\"".repeat(1_000));
        let value = report((0..100).map(line).collect()).header_value();
        assert!(value.len() <= HEADER_BYTES_MAX);
        let json = percent::decode(&value).unwrap();
        assert!(json.contains("[\"0 ") && !json.contains("\"99 "), "{json}");
    }
}
