//! The reasons why a query has no plan.
//!
//! Messages with a code are copied verbatim from the service, because clients and their tests match
//! them. The three formats are copied as well: a list `errors` with positions and codes, a list
//! `Errors` of plain texts, and a single text.

use orrery_json::{Object, Value};
use orrery_sql::{Span, SyntaxError};

use crate::Features;

/// A query that is rejected before it runs. The client can correct every one of these errors.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// Problems in the order of the query text.
    #[error("{}", listed(.0))]
    Problems(Vec<Problem>),
    #[error(
        r#"{{"Errors":["Compositions of aggregates and other expressions are not allowed."]}}"#
    )]
    ComposedAggregates,
    #[error(r#"{{"Errors":["Order-by over correlated collections is not supported."]}}"#)]
    CorrelatedOrderBy,
    /// The plan needs features that the client does not advertise.
    #[error(
        "Query contains the following features, which the calling client does not support:\n\
         None {missing}"
    )]
    Features { missing: Features },
}

impl From<SyntaxError> for PlanError {
    // The parser stops at its first error, so the list has one element.
    fn from(error: SyntaxError) -> PlanError {
        let span = Some(error.span);
        let kind = ProblemKind::Syntax(error);
        PlanError::Problems(vec![Problem { kind, span }])
    }
}

impl From<Problem> for PlanError {
    fn from(problem: Problem) -> PlanError {
        PlanError::Problems(vec![problem])
    }
}

/// One problem, with its position if the syntax tree stores one.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub kind: ProblemKind,
    pub span: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProblemKind {
    #[error(transparent)]
    Syntax(SyntaxError),
    #[error("Identifier '{0}' could not be resolved.")]
    UnresolvedIdentifier(String),
    #[error("'{0}' is not a recognized built-in function name.")]
    UnknownFunction(String),
    #[error("The input alias '{0}' is specified more than once in the FROM clause.")]
    DuplicateAlias(String),
    #[error("'SELECT *' is only valid with a single input set.")]
    StarWithoutSingleSource,
    #[error("'SELECT *' is not allowed with GROUP BY.")]
    StarWithGroupBy,
    #[error("The {name} function requires {expected} argument(s).")]
    ArgumentCount { name: String, expected: String },
    #[error("Parameter '{0}' must be given, as a non-negative integer.")]
    Count(String),
    #[error(
        "Cannot perform an aggregate function on an expression containing an aggregate or a subquery."
    )]
    NestedAggregate,
    #[error(
        "Property reference '{0}' is invalid in the select list because it is not contained in \
         either an aggregate function or the GROUP BY clause."
    )]
    Ungrouped(String),
    #[error("The aggregate function {0} is only allowed in the select list.")]
    MisplacedAggregate(String),
    #[error("'ORDER BY' clause is not supported in subqueries.")]
    OrderByInSubquery,
    #[error("'TOP' clause is not supported in subqueries.")]
    TopInSubquery,
    #[error("'OFFSET LIMIT' clause is not supported in subqueries.")]
    OffsetLimitInSubquery,
    #[error(
        "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."
    )]
    OrderByPath,
    #[error(
        "The '{option}' value {value} specified in the VectorDistance function is outside the \
         supported range. The value must be between 1 and 100."
    )]
    VectorOption { option: String, value: Value },
    #[error(
        "The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore \
         function call."
    )]
    RankFunction,
    #[error("The ORDER BY RANK clause is not supported with an iteration in the FROM clause.")]
    RankWithIteration,
    #[error("The ORDER BY RANK clause is not supported with JOIN.")]
    RankWithJoin,
    #[error("The ORDER BY RANK clause is not supported with a subquery in the FROM clause.")]
    RankWithFromSubquery,
    #[error("The ORDER BY RANK clause is not supported with DISTINCT, GROUP BY or aggregates.")]
    RankWithGroups,
    #[error("'ORDER BY RANK' clause is not supported in subqueries.")]
    RankInSubquery,
    #[error("The weights of the RRF function must be an array of numbers, one for each score.")]
    RankWeights,
    #[error("The FullTextScore function is only allowed in the ORDER BY RANK clause.")]
    MisplacedFullTextScore,
    #[error("The specified query includes 'member indexer' which is currently not supported.")]
    MemberIndexer,
    #[error("The query has more than {max} {what}.")]
    TooMany { what: &'static str, max: usize },
}

/// The two formats in which the service writes an error code.
enum Code {
    Text(&'static str),
    Number(i64),
    /// The service's code for this problem is not known.
    Unknown,
}

impl ProblemKind {
    /// The code of the problem in the service's error body.
    fn code(&self) -> Code {
        match self {
            ProblemKind::Syntax(error) => Code::Text(error.code()),
            ProblemKind::UnresolvedIdentifier(_) => Code::Text("SC2001"),
            ProblemKind::UnknownFunction(_) => Code::Text("SC2005"),
            ProblemKind::StarWithGroupBy => Code::Text("SC2041"),
            ProblemKind::ArgumentCount { .. } => Code::Text("SC2050"),
            ProblemKind::NestedAggregate => Code::Text("SC2101"),
            ProblemKind::Ungrouped(_) => Code::Text("SC2102"),
            ProblemKind::OrderByInSubquery => Code::Text("SC2202"),
            ProblemKind::TopInSubquery => Code::Text("SC2203"),
            ProblemKind::OffsetLimitInSubquery => Code::Text("SC2204"),
            ProblemKind::OrderByPath => Code::Number(2206),
            ProblemKind::VectorOption { .. } => Code::Text("SC2213"),
            ProblemKind::RankFunction => Code::Text("SC2221"),
            ProblemKind::RankWithIteration => Code::Text("SC2223"),
            ProblemKind::RankWithJoin => Code::Text("SC2224"),
            ProblemKind::RankWithFromSubquery => Code::Text("SC2225"),
            ProblemKind::RankInSubquery => Code::Text("SC2228"),
            ProblemKind::RankWeights => Code::Text("SC2229"),
            ProblemKind::MisplacedFullTextScore => Code::Text("SC2240"),
            ProblemKind::MemberIndexer => Code::Text("SC2990"),
            ProblemKind::DuplicateAlias(_)
            | ProblemKind::StarWithoutSingleSource
            | ProblemKind::Count(_)
            | ProblemKind::MisplacedAggregate(_)
            | ProblemKind::RankWithGroups
            | ProblemKind::TooMany { .. } => Code::Unknown,
        }
    }

    pub(crate) fn at(self, span: Span) -> Problem {
        Problem {
            kind: self,
            span: Some(span),
        }
    }

    /// A problem in a clause whose position the syntax tree does not store.
    pub(crate) fn without_position(self) -> Problem {
        Problem {
            kind: self,
            span: None,
        }
    }
}

/// The error body of the service for a list of problems.
fn listed(problems: &[Problem]) -> Value {
    let errors = problems.iter().map(entry).collect();
    Value::Object(Object::from_iter([(
        "errors".to_owned(),
        Value::Array(errors),
    )]))
}

/// One element of the `errors` list. Absent positions and codes are left out, as the service does.
fn entry(problem: &Problem) -> Value {
    let mut entry = Object::default();
    let mut put = |name: &str, value: Value| entry.insert(name.to_owned(), value);
    put("severity", Value::from("Error"));
    if let Some(span) = problem.span {
        put("location", location(span));
    }
    match problem.kind.code() {
        Code::Text(code) => put("code", Value::from(code)),
        Code::Number(code) => put("code", Value::from(code)),
        Code::Unknown => None,
    };
    put("message", Value::from(problem.kind.to_string()));
    Value::Object(entry)
}

fn location(span: Span) -> Value {
    let offset = |offset: usize| Value::from(i64::try_from(offset).unwrap_or(i64::MAX));
    Value::Object(Object::from_iter([
        ("start".to_owned(), offset(span.start)),
        ("end".to_owned(), offset(span.end)),
    ]))
}
