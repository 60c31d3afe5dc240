//! A query before its parameters have values.
//!
//! Applications repeat a query text with other values. The text is compiled once; binding then only
//! looks up the values of its parameters. Only if a value decides what is read (`parameters`) is
//! the text compiled for each set of values.

use std::sync::Arc;

use orrery_json::Value;
use orrery_sql::Query;
use orrery_sql::ast::Identifier;

use crate::parameters::{ParameterLookup, Parameters, Slots};
use crate::program::Body;
use crate::skip_take::SkipTake;
use crate::{CompileError, CompileOptions, ComputedProperties, Program};

/// A query that produces programs.
#[derive(Debug)]
pub struct PreparedQuery {
    query: Query,
    computed: ComputedProperties,
    functions: Vec<String>,
    /// `None` if every set of values needs its own program, or if the query does not compile.
    shared: Option<Shared>,
}

#[derive(Debug)]
struct Shared {
    body: Arc<Body>,
    /// Parameter names, indexed by slot.
    names: Vec<Identifier>,
}

impl PreparedQuery {
    /// Prepares a query over the documents of a container with these computed properties and
    /// user-defined functions. [`PreparedQuery::bind`] reports errors of the query.
    pub fn new(
        query: Query,
        computed: ComputedProperties,
        functions: Vec<String>,
    ) -> PreparedQuery {
        let mut template = PreparedQuery {
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

    /// Whether the programs of all values read the same parts of documents in the same order. They
    /// then differ only in comparison values and in row counts.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The program for these values. Supplied parameters that the query does not use are ignored.
    pub fn bind(&self, parameters: &[(String, Value)]) -> Result<Program, CompileError> {
        // The full compilation also reports the error of a query that does not compile.
        let Some(shared) = &self.shared else {
            return Program::compile_with_options(&self.query, parameters, self.options());
        };
        let window = SkipTake::compile(&self.query, parameters)?;
        let supplied = ParameterLookup::of(parameters);
        let values = shared.names.iter();
        let values = values.map(|name| supplied.find(name).clone()).collect();
        Ok(Program::new(Arc::clone(&shared.body), values, window))
    }

    /// Compiles the query with slots. `None` if it does not compile, or if values decide what it
    /// reads.
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

    fn template(text: &str) -> PreparedQuery {
        let query = orrery_sql::parse(text).unwrap();
        PreparedQuery::new(query, ComputedProperties::default(), Vec::new())
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
            ("SELECT TOP @n @m FROM c", r#"{"@m": 1}"#),
            ("SELECT TOP @n * FROM c", r#"{"@n": "1"}"#),
            ("SELECT TOP @n @m FROM c", r#"{"@n": -1}"#),
            (
                "SELECT * FROM c OFFSET @n LIMIT @m",
                r#"{"@n": 1, "@m": 1.5}"#,
            ),
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
