//! A page in the text format of Prometheus.

use std::fmt::{Display, Write};

#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
    family: &'static str,
}

impl Page {
    pub(super) fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    pub(super) fn line(&mut self, labels: &[(&str, &str)], number: impl Display) {
        self.part("", labels, number);
    }

    pub(super) fn part(&mut self, suffix: &str, labels: &[(&str, &str)], number: impl Display) {
        let family = self.family;
        self.write(format_args!("{family}{suffix}"));
        for (place, (name, value)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
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
