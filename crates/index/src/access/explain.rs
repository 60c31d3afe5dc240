//! The plan as a tree for people. The executor adds the actual numbers.

use std::fmt::Write;

use super::AccessPlan;

/// One step of a plan, with the steps that feed it as children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNode {
    /// The kind of step: `scan of documents`, `point`, `range`, `intersection` and so on.
    pub name: &'static str,
    /// The index that the step reads: `/a/?`, or `(/a ASC, /b DESC)`.
    pub index: Option<String>,
    /// The entries that the step selects.
    pub predicate: Option<String>,
    /// An addition such as the direction, or the output of an entry.
    pub detail: Option<&'static str>,
    pub entries: u64,
    pub documents: u64,
    pub children: Vec<PlanNode>,
}

impl PlanNode {
    /// One line for each step, with children indented by two spaces.
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
    /// The tree of the plan, then the alternatives that the planner compared.
    pub fn explain(&self) -> Vec<String> {
        let mut lines = self.root.lines();
        for other in &self.alternatives {
            lines.push(format!(
                "considered: {}, cost {:.0}",
                other.what(),
                other.cost
            ));
        }
        lines
    }
}
