//! Documents in memory, scanned as the engine scans a scope.

use bytes::Bytes;
use orrery_exec::{
    CompileError, CompileOptions, Continuation, ExecError, Flow, InputDocument, PageLimits,
    PageResult, Program, ResultRow, UserFunctionError, UserFunctions,
};
use orrery_json::{Value, parse_bounded};
use orrery_memory::MemoryShare;

pub(crate) fn json(text: &str) -> Value {
    parse_bounded(text.as_bytes(), 128).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Documents in scan order; the resource id of the first one is 1.
#[derive(Debug)]
pub(crate) struct Scope {
    documents: Vec<(Value, Bytes)>,
}

impl Scope {
    pub(crate) fn new(texts: &[&str]) -> Scope {
        Scope::of(texts.iter().map(|text| json(text)).collect())
    }

    pub(crate) fn of(documents: Vec<Value>) -> Scope {
        let with_text = |document: Value| {
            let text = Bytes::from(document.to_string());
            (document, text)
        };
        Scope {
            documents: documents.into_iter().map(with_text).collect(),
        }
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.documents.iter().map(|(value, _)| value)
    }

    pub(crate) fn page(
        &self,
        program: &Program,
        resume: Option<Continuation>,
        limits: PageLimits<'_>,
    ) -> Result<PageResult, ExecError> {
        self.page_of(program, resume, limits, &MemoryShare::unlimited())
    }

    /// As [`Scope::page`], of a client.
    pub(crate) fn page_of(
        &self,
        program: &Program,
        resume: Option<Continuation>,
        limits: PageLimits<'_>,
        share: &MemoryShare,
    ) -> Result<PageResult, ExecError> {
        let functions = Fake(program.functions_used());
        let page = program.page_with_functions(resume, limits, &functions)?;
        let mut page = page.borrowing(share);
        let start = page
            .start_position()
            .map(<[u8]>::to_vec)
            .unwrap_or_default();
        for (index, (value, text)) in self.documents.iter().enumerate() {
            let place = (index as u64).to_be_bytes();
            if place.as_slice() < start.as_slice() {
                continue;
            }
            let document = InputDocument {
                value,
                rid: index as u64 + 1,
                text,
                scan_position: &place,
            };
            if page.push(document)? == Flow::Full {
                break;
            }
        }
        page.finish()
    }

    /// All rows, page by page; the continuation between two pages is encoded and decoded.
    pub(crate) fn pages(
        &self,
        program: &Program,
        items_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Value>, ExecError> {
        let mut rows = Vec::new();
        let mut resume = None;
        for _ in 0..10_000 {
            let limits = PageLimits {
                items_max,
                bytes_max,
                deadline: None,
                now_ticks: 0,
                position_bytes_max: 480,
            };
            let page = self.page(program, resume, limits)?;
            assert!(page.rows.len() <= items_max);
            assert_eq!(page.work.rows, page.rows.len() as u64);
            rows.extend(page.rows.into_iter().map(value));
            let Some(next) = page.continuation else {
                return Ok(rows);
            };
            let bytes = next.encode();
            assert!(bytes.len() < 1024, "{} bytes", bytes.len());
            let decoded = Continuation::decode(&bytes).expect("own bytes");
            assert_eq!(decoded, next);
            resume = Some(decoded);
        }
        panic!("pages without end");
    }

    pub(crate) fn rows(&self, text: &str) -> Vec<Value> {
        self.pages(&program(text), usize::MAX, usize::MAX)
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Compares each query's rows with the text of a JSON array, in one page and in pages of one
    /// row.
    pub(crate) fn check(&self, table: &[(&str, &str)]) {
        for (text, expected) in table {
            let program = program(text);
            for items_max in [usize::MAX, 1] {
                let rows = self
                    .pages(&program, items_max, usize::MAX)
                    .unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!(Value::Array(rows).to_string(), *expected, "{text}");
            }
        }
    }

    /// Like [`Scope::check`], but ignores the order of the rows.
    pub(crate) fn check_unordered(&self, table: &[(&str, &str)]) {
        for (text, expected) in table {
            for items_max in [usize::MAX, 1] {
                let rows = self
                    .pages(&program(text), items_max, usize::MAX)
                    .unwrap_or_else(|error| panic!("{text}: {error}"));
                let expected = json(expected);
                assert_eq!(
                    sorted(&rows),
                    sorted(expected.as_array().expect("a list")),
                    "{text}"
                );
            }
        }
    }
}

pub(crate) fn value(row: ResultRow) -> Value {
    match row {
        ResultRow::Value(value) => value,
        ResultRow::Text(text) => parse_bounded(&text, 128).expect("a document"),
    }
}

pub(crate) fn sorted(rows: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}

pub(crate) fn compile(text: &str) -> Result<Program, CompileError> {
    let query = orrery_sql::parse(text)?;
    let parameters = [
        ("@n".to_owned(), json("2")),
        ("@negative".to_owned(), json("-1")),
        ("@name".to_owned(), json("\"a\"")),
    ];
    Program::compile(&query, &parameters)
}

pub(crate) fn program(text: &str) -> Program {
    compile(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Like [`compile`], in a container with the functions of [`Fake`].
pub(crate) fn compile_calling(text: &str) -> Result<Program, CompileError> {
    let functions = Fake::NAMES.map(str::to_owned);
    let options = CompileOptions {
        functions: Some(&functions),
        ..CompileOptions::default()
    };
    Program::compile_with_options(&orrery_sql::parse(text)?, &[], options)
}

/// Fake user-defined functions, with the names that a program calls.
pub(crate) struct Fake<'a>(pub(crate) &'a [String]);

impl Fake<'_> {
    pub(crate) const NAMES: [&'static str; 6] =
        ["same", "positive", "kind", "all", "nothing", "tax"];
}

impl UserFunctions for Fake<'_> {
    fn call(&self, function: usize, arguments: &[Value]) -> Result<Value, UserFunctionError> {
        let first = arguments.first().unwrap_or(&Value::Undefined);
        Ok(match &*self.0[function] {
            "same" => first.clone(),
            "positive" => match first {
                Value::Number(number) => Value::Bool(number.as_f64() > 0.0),
                _ => Value::Undefined,
            },
            "kind" => Value::from(first.type_name()),
            "all" => Value::Array(
                arguments
                    .iter()
                    .map(|argument| Value::from(argument.type_name()))
                    .collect(),
            ),
            "nothing" => Value::Undefined,
            "tax" => match first {
                Value::Undefined => {
                    return Err(UserFunctionError::Failed {
                        message: "Exception = no input".to_owned(),
                        number: None,
                    });
                }
                income => income.clone(),
            },
            other => panic!("there is no {other}"),
        })
    }
}
