//! `x-orrery-query-plan`: how a page was found, what was expected of it and what it took.
//!
//! A header of Orrery's own. Whoever wants it is a person with a slow query, so it is JSON of plain
//! lines; it must fit the limit that clients and proxies put on one header.

use serde::Serialize;

use crate::percent;

const HEADER_BYTES_MAX: usize = 8 * 1024;
/// A filter may hold a list of thousands of values.
const LINE_CHARACTERS_MAX: usize = 500;

#[derive(Debug, Clone, Serialize)]
pub struct QueryPlanReport {
    /// The steps, then what else was considered.
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
    /// Percent-encoded JSON. What does not fit is left out from the end of the plan, which is what
    /// was considered and not taken.
    pub fn header_value(mut self) -> String {
        for line in &mut self.plan {
            if let Some((end, _)) = line.char_indices().nth(LINE_CHARACTERS_MAX) {
                line.truncate(end);
                line.push_str("...");
            }
        }
        loop {
            let json = serde_json::to_string(&self).expect("strings and numbers are JSON");
            let value = percent::encode_component(&json);
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
