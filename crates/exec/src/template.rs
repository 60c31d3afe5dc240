//! A query before its parameters have values.
//!
//! Applications ask the same text again and again with other values. What the text means is worked
//! out once; giving it values is looking up as many values as it has parameters. Only where a value
//! decides what is read (`parameters`) the text is compiled for each set of values.

use std::sync::Arc;

use orrery_json::Value;
use orrery_sql::Query;
use orrery_sql::ast::Identifier;

use crate::parameters::{Parameters, Slots, Supplied};
use crate::program::Body;
use crate::window::Window;
use crate::{CompileError, CompileOptions, ComputedProperties, Program};

/// A query that programs are made from.
#[derive(Debug)]
pub struct Template {
    query: Query,
    computed: ComputedProperties,
    functions: Vec<String>,
    /// None when every set of values has a body of its own, or when compiling fails.
    shared: Option<Shared>,
}

#[derive(Debug)]
struct Shared {
    body: Arc<Body>,
    /// The parameters by their slots.
    names: Vec<Identifier>,
}

impl Template {
    /// A query over the documents of a container with these computed properties and user-defined
    /// functions. What is wrong with it is told by [`Template::bind`].
    pub fn new(query: Query, computed: ComputedProperties, functions: Vec<String>) -> Template {
        let mut template = Template {
            query,
            computed,
            functions,
            shared: None,
        };
        template.shared = template.share();
        template
    }

    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Whether programs of all values read the same of documents, in the same order, and differ
    /// only in what they compare with and in how many rows they give.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The program for these values. Parameters that the query does not use are ignored.
    pub fn bind(&self, parameters: &[(String, Value)]) -> Result<Program, CompileError> {
        let Some(shared) = &self.shared else {
            return Program::compile_with_options(&self.query, parameters, self.options());
        };
        let window = Window::compile(&self.query, parameters)?;
        let supplied = Supplied::of(parameters);
        let values = shared.names.iter();
        let values = values
            .map(|name| supplied.find(name).cloned())
            .collect::<Result<_, _>>()?;
        Ok(Program::new(Arc::clone(&shared.body), values, window))
    }

    fn share(&self) -> Option<Shared> {
        let slots = Slots::default();
        let body = Body::compile(&self.query, Parameters::Slots(&slots), self.options()).ok()?;
        Some(Shared {
            body: Arc::new(body),
            names: slots.into_names()?,
        })
    }

    fn options(&self) -> CompileOptions<'_> {
        CompileOptions {
            computed: Some(&self.computed),
            functions: Some(&self.functions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        let query = orrery_sql::parse(text).unwrap();
        Template::new(query, ComputedProperties::default(), Vec::new())
    }

    #[test]
    fn a_value_that_decides_what_is_read_is_told_apart() {
        for (text, is_shared) in [
            ("SELECT * FROM c", true),
            (
                "SELECT @a.b FROM c WHERE c.a = @a AND c.b IN (@b, @a)",
                true,
            ),
            ("SELECT TOP @n c.a FROM c", true),
            ("SELECT * FROM c OFFSET @n LIMIT @m", true),
            ("SELECT c.a, COUNT(@x) FROM c GROUP BY c.a", true),
            ("SELECT * FROM c WHERE c.a LIKE 'a%'", true),
            ("SELECT * FROM c WHERE c.a LIKE CONCAT(@a, '%')", true),
            ("SELECT * FROM c WHERE c.a LIKE @a", false),
            ("SELECT VALUE c[@a] FROM c", false),
            ("SELECT VALUE c.a[@a] FROM c", false),
            (
                "SELECT VALUE EXISTS(SELECT 1 FROM x IN c.a WHERE x[@a] = 1) FROM c",
                false,
            ),
            ("SELECT VALUE NOTHING(c) FROM c", false),
        ] {
            assert_eq!(template(text).is_shared(), is_shared, "{text}");
        }
    }

    #[test]
    fn binding_fails_as_compiling_does() {
        let values = |text: &str| match orrery_json::parse(text.as_bytes()).unwrap() {
            Value::Object(object) => object
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        for (text, parameters) in [
            ("SELECT * FROM c WHERE c.a = @a AND c.b = @b", "{}"),
            (
                "SELECT * FROM c WHERE c.a = @a AND c.b = @b",
                r#"{"@a": 1}"#,
            ),
            ("SELECT TOP @n @m FROM c", r#"{"@m": 1}"#),
            ("SELECT TOP @n * FROM c", r#"{"@n": "1"}"#),
            ("SELECT TOP @n @m FROM c", r#"{"@n": -1}"#),
            (
                "SELECT * FROM c OFFSET @n LIMIT @m",
                r#"{"@n": 1, "@m": 1.5}"#,
            ),
            ("SELECT * FROM c WHERE c.a LIKE @a", "{}"),
            ("SELECT c.b FROM c GROUP BY c.a", "{}"),
            ("SELECT * FROM c WHERE x.a = @a", r#"{"@a": 1}"#),
        ] {
            let template = template(text);
            let parameters = values(parameters);
            let wanted = Program::compile(template.query(), &parameters).unwrap_err();
            let failed = template.bind(&parameters).unwrap_err();
            assert_eq!(failed.to_string(), wanted.to_string(), "{text}");
        }
    }
}
