//! The plan as a tree that people read; who runs it adds what really happened.

use std::fmt::Write;

use super::AccessPlan;

/// One step of a plan, above the steps that feed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNode {
    /// What is done: `scan of documents`, `point`, `range`, `intersection` and so on.
    pub name: &'static str,
    /// The index it reads: `/a/?`, or `(/a ASC, /b DESC)`.
    pub index: Option<String>,
    /// Which entries of the index.
    pub predicate: Option<String>,
    /// What is said beside: the direction, or what is taken of an entry.
    pub detail: Option<&'static str>,
    pub entries: u64,
    pub documents: u64,
    pub children: Vec<PlanNode>,
}

impl PlanNode {
    /// One line for each step, children indented by two.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.write_lines(0, &mut lines);
        lines
    }

    fn write_lines(&self, depth: usize, lines: &mut Vec<String>) {
        let mut line = format!("{:1$}", "", depth * 2);
        line += &self.title();
        let _ = match (self.entries, self.documents) {
            (0, documents) => write!(line, " (documents {documents})"),
            (entries, documents) => write!(line, " (entries {entries}, documents {documents})"),
        };
        lines.push(line);
        for child in &self.children {
            child.write_lines(depth + 1, lines);
        }
    }

    pub(super) fn title(&self) -> String {
        let mut title = self.name.to_owned();
        for part in [&self.index, &self.predicate].into_iter().flatten() {
            title.push(' ');
            title += part;
        }
        if let Some(detail) = self.detail {
            title += ", ";
            title += detail;
        }
        title
    }
}

impl AccessPlan {
    /// The tree, then what else was considered.
    pub fn explain(&self) -> Vec<String> {
        let mut lines = self.root.lines();
        for other in &self.considered {
            lines.push(format!(
                "considered: {}, cost {:.0}",
                other.what(),
                other.cost
            ));
        }
        lines
    }
}
