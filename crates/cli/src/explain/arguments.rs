//! The command line of `orrery explain`.

use std::str::FromStr;

use clap::Args;
use orrery_client::{Endpoint, TrustArguments};
use orrery_json::Value;
use orrery_shell::KeyValues;

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

    #[command(flatten)]
    pub(crate) trust: TrustArguments,

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

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    pub(super) name: String,
    pub(super) value: Value,
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
    orrery_json::parse(text.as_bytes())
        .map_err(|error| format!("not JSON ({error}); a string has quotes of its own: '\"a\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_a_name_and_a_value() {
        let parameter: Parameter = "@a=\"b=c\"".parse().unwrap();
        assert_eq!(parameter.name, "@a");
        assert_eq!(parameter.value, Value::from("b=c"));
        for wrong in ["a=1", "@=1", "@a", "@a=b"] {
            assert!(wrong.parse::<Parameter>().is_err(), "{wrong}");
        }
    }
}
