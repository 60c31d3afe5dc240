//! The command line of `orrery explain`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use crate::env_vars;
use crate::keys::KeyText;

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Address of the account
    #[arg(long, value_name = "URL", default_value = "https://localhost:8081/")]
    pub(crate) endpoint: Endpoint,

    /// A key of the account [default: the public key of the emulator]
    #[arg(long, env = env_vars::KEY, hide_env_values = true)]
    pub(crate) key: Option<KeyText>,

    /// The certificate of the server as a PEM file; `orrery serve` says at its start where it is
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) certificate: Option<PathBuf>,

    /// Accept any certificate
    #[arg(long)]
    pub(crate) insecure: bool,

    /// Database of the container
    #[arg(long, value_name = "NAME")]
    pub(crate) database: String,

    /// Container to query
    #[arg(long, value_name = "NAME")]
    pub(crate) container: String,

    /// Partition key to read, as JSON: '"a"', or '["a",1]' for several parts [default: all]
    #[arg(long, value_name = "JSON")]
    pub(crate) partition_key: Option<KeyValues>,

    /// Value of a parameter of the query, as JSON: '@city="Rome"'; once for each
    #[arg(long, value_name = "@NAME=JSON")]
    pub(crate) parameter: Vec<Parameter>,

    /// Pages to run and to show
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pages: u32,

    /// Rows of a page at most [default: what the server chooses]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) page_items: Option<i32>,

    /// The query
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
}

impl ExplainArguments {
    /// The body of the request.
    pub(super) fn body(&self) -> String {
        let parameters = self.parameter.iter();
        let parameters: Vec<Value> = parameters
            .map(|parameter| json!({"name": parameter.name, "value": parameter.value}))
            .collect();
        json!({"query": self.query, "parameters": parameters}).to_string()
    }
}

/// The values of a partition key, as the header carries them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyValues(Vec<Value>);

impl FromStr for KeyValues {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyValues, String> {
        Ok(KeyValues(match parse(text)? {
            Value::Array(values) => values,
            value => vec![value],
        }))
    }
}

impl fmt::Display for KeyValues {
    /// Only ASCII, because it becomes a header.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Value::Array(self.0.clone()).to_string();
        for c in text.chars() {
            if c.is_ascii() {
                write!(f, "{c}")?;
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(f, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    name: String,
    value: Value,
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Parameter, String> {
        let (name, value) = text
            .split_once('=')
            .filter(|(name, _)| name.len() > 1 && name.starts_with('@'))
            .ok_or("not of the form @name=JSON")?;
        Ok(Parameter {
            name: name.to_owned(),
            value: parse(value)?,
        })
    }
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("not JSON ({error}); a string has quotes of its own: '\"a\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_a_header() {
        for (text, expected) in [
            ("\"a\"", r#"["a"]"#),
            ("[\"a\",1]", r#"["a",1]"#),
            ("null", "[null]"),
            ("{}", "[{}]"),
            ("\"é😀\"", r#"["\u00e9\ud83d\ude00"]"#),
        ] {
            let key: KeyValues = text.parse().unwrap();
            assert_eq!(key.to_string(), expected);
        }
        assert!("a".parse::<KeyValues>().unwrap_err().contains("quotes"));
    }

    #[test]
    fn parameters_have_a_name_and_a_value() {
        let parameter: Parameter = "@a=\"b=c\"".parse().unwrap();
        assert_eq!(parameter.name, "@a");
        assert_eq!(parameter.value, json!("b=c"));
        for wrong in ["a=1", "@=1", "@a", "@a=b"] {
            assert!(wrong.parse::<Parameter>().is_err(), "{wrong}");
        }
    }
}
