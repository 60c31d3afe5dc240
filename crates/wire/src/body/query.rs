//! Query bodies, and the plan of a query that leaves the client nothing to do.

use orrery_json::Value;
use orrery_model::{Failure, limits};

use super::parse_body;

/// A query and its parameters; properties that are neither are ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryBody {
    pub text: String,
    /// Names with their `@`.
    pub parameters: Vec<(String, Value)>,
}

impl QueryBody {
    /// Reads `{"query":"…","parameters":[{"name":"@p","value":…}]}`.
    pub fn parse(body: &[u8]) -> Result<QueryBody, Failure> {
        let Value::Object(mut object) = parse_body(body)? else {
            return Err(invalid("The body of a query must be a JSON object."));
        };
        let text = match object.swap_remove("query") {
            Some(Value::String(text)) => text,
            Some(_) => return Err(invalid("'query' must be a string.")),
            None => return Err(Failure::MissingProperty("query")),
        };
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
        Ok(QueryBody { text, parameters })
    }
}

/// A parameter without a value is undefined.
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

/// The answer to a query-plan request when every partition can run the query as it is written.
pub fn empty_query_plan_body() -> &'static [u8] {
    br#"{"partitionedQueryExecutionInfoVersion":2,"queryInfo":{"distinctType":"None","top":null,"offset":null,"limit":null,"orderBy":[],"orderByExpressions":[],"groupByExpressions":[],"groupByAliases":[],"aggregates":[],"groupByAliasToAggregateType":{},"rewrittenQuery":"","hasSelectValue":false,"dCountInfo":null,"hasNonStreamingOrderBy":false},"queryRanges":[{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":false}]}"#
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
    fn the_plan_is_json() {
        let plan = orrery_json::parse(empty_query_plan_body()).unwrap();
        assert_eq!(
            plan.get("queryInfo").get("rewrittenQuery").as_str(),
            Some("")
        );
    }
}
