//! Query bodies.

use orrery_json::Value;
use orrery_keys::ItemRid;
use orrery_model::{Failure, limits};

use super::parse_body;

/// A query and its parameters. Other properties are ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryBody {
    pub text: String,
    /// The parameters. Their names include the `@`.
    pub parameters: Vec<(String, Value)>,
    pub resume: Option<ResumeFilter>,
}

/// The position at which a client that merges sorted pages resumes an ordered query.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeFilter {
    /// One value for each column of the order, in the form that SDKs send.
    pub values: Vec<Value>,
    /// Among rows equal to the values, resume at this item.
    pub rid: Option<ItemRid>,
    /// Resume after the values.
    pub exclude: bool,
}

impl QueryBody {
    /// Parses `{"query":"…","parameters":[{"name":"@p","value":…}]}`.
    pub fn parse(body: &[u8]) -> Result<QueryBody, Failure> {
        let Value::Object(mut object) = parse_body(body)? else {
            return Err(invalid("The body of a query must be a JSON object."));
        };
        let text = match object.swap_remove("query") {
            Some(Value::String(text)) => text,
            Some(_) => return Err(invalid("'query' must be a string.")),
            None => return Err(Failure::MissingProperty("query")),
        };
        // The limit is in characters, and not in bytes, as in Cosmos DB.
        if text.chars().count() > limits::QUERY_TEXT_CHARS_MAX {
            return Err(Failure::BadRequest(format!(
                "The SQL query text exceeded the maximum limit of {} characters",
                limits::QUERY_TEXT_CHARS_MAX
            )));
        }
        let parameters = match object.swap_remove("parameters") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) => {
                list.into_iter().map(parameter).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(invalid("'parameters' must be an array.")),
        };
        let resume = match object.swap_remove("resumeFilter") {
            None | Some(Value::Null) => None,
            Some(filter) => Some(resume_filter(&filter)?),
        };
        Ok(QueryBody {
            text,
            parameters,
            resume,
        })
    }
}

fn resume_filter(filter: &Value) -> Result<ResumeFilter, Failure> {
    let values = filter.get("value").as_array().ok_or_else(|| {
        invalid("'resumeFilter.value' must be an array with a value for each order.")
    })?;
    let rid = match filter.get("rid").as_str() {
        // An empty text names no item.
        None | Some("") => None,
        Some(text) => Some(
            ItemRid::parse(text)
                .map_err(|_| invalid("'resumeFilter.rid' must be the resource id of an item."))?,
        ),
    };
    Ok(ResumeFilter {
        values: values.to_vec(),
        rid,
        exclude: filter.get("exclude").as_bool().unwrap_or(false),
    })
}

/// A parameter. Without a value it is undefined.
fn parameter(value: Value) -> Result<(String, Value), Failure> {
    let Value::Object(mut object) = value else {
        return Err(invalid(
            "A query parameter must be an object with 'name' and 'value'.",
        ));
    };
    match object.swap_remove("name") {
        Some(Value::String(name)) if name.starts_with('@') => {
            Ok((name, object.swap_remove("value").unwrap_or_default()))
        }
        _ => Err(invalid(
            "The name of a query parameter must be a string that begins with '@'.",
        )),
    }
}

fn invalid(why: &str) -> Failure {
    Failure::BadRequest(format!("One of the input values is invalid. {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_bodies() {
        let parsed = |body: &str| QueryBody::parse(body.as_bytes());
        let query =
            parsed(r#"{"query":"q","parameters":[{"name":"@a","value":[1]},{"name":"@b"}],"x":1}"#);
        let query = query.unwrap();
        assert_eq!(query.text, "q");
        assert_eq!(query.parameters.len(), 2);
        assert_eq!(query.parameters[0].1.to_string(), "[1]");
        assert!(query.parameters[1].1.is_undefined());
        for body in [r#"{"query":"q"}"#, r#"{"query":"q","parameters":null}"#] {
            assert!(parsed(body).unwrap().parameters.is_empty(), "{body}");
        }
        assert_eq!(parsed("{}"), Err(Failure::MissingProperty("query")));
        let long = format!(
            r#"{{"query":"{}"}}"#,
            "x".repeat(limits::QUERY_TEXT_CHARS_MAX + 1)
        );
        for body in [
            "",
            "[]",
            r#"{"query":1}"#,
            r#"{"query":"q","parameters":{}}"#,
            r#"{"query":"q","parameters":[1]}"#,
            r#"{"query":"q","parameters":[{"name":"a","value":1}]}"#,
            long.as_str(),
        ] {
            assert!(
                matches!(parsed(body), Err(Failure::BadRequest(_))),
                "{}",
                body.len()
            );
        }
    }

    #[test]
    fn resume_filters() {
        let parsed = |filter: &str| {
            QueryBody::parse(format!(r#"{{"query":"q","resumeFilter":{filter}}}"#).as_bytes())
        };
        let filter = parsed(r#"{"value":[1,[]],"rid":"kRNGAOrVWJoBAAAAAAAAAA==","exclude":true}"#);
        let filter = filter.unwrap().resume.unwrap();
        assert_eq!(filter.values.len(), 2);
        assert_eq!(filter.rid.unwrap().counter(), 1);
        assert!(filter.exclude);
        assert_eq!(parsed("null").unwrap().resume, None);
        for wrong in ["{}", r#"{"value":1}"#, r#"{"value":[],"rid":"x"}"#] {
            assert!(
                matches!(parsed(wrong), Err(Failure::BadRequest(_))),
                "{wrong}"
            );
        }
    }
}
