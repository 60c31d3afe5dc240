//! A page in the text format of Prometheus.

use std::fmt::{Display, Write};

/// The text so far, and the family to which the next lines belong.
#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
    family: &'static str,
}

impl Page {
    /// Begins a family: its help text, and its type for Prometheus.
    pub(super) fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// Appends one figure of the family.
    pub(super) fn line(&mut self, labels: &[(&str, &str)], number: impl Display) {
        self.part("", labels, number);
    }

    /// Appends one figure under the family's name with a suffix, as histograms need it.
    pub(super) fn part(&mut self, suffix: &str, labels: &[(&str, &str)], number: impl Display) {
        let family = self.family;
        self.write(format_args!("{family}{suffix}"));
        for (index, (name, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            self.write(format_args!("{before}{name}=\"{}\"", escaped(value)));
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        self.write(format_args!(" {number}\n"));
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.text
            .write_fmt(text)
            .expect("a string takes everything");
    }
}

/// Escapes a label value as the text format requires.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted() {
        assert_eq!(escaped("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
    }
}
