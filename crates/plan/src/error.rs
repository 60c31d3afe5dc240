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
    #[error("The input set name or alias '{0}' is specified more than once in the FROM clause.")]
    DuplicateAlias(String),
    #[error("The variable name '{0}' in the LET expression must be unique.")]
    DuplicateVariable(String),
    #[error("Object creation error, property name '{0}' specified more than once.")]
    DuplicateName(String),
    #[error("Syntax error, 'SELECT *' is not valid if FROM clause is omitted.")]
    StarWithoutFrom,
    #[error("'SELECT *' is only valid with a single input set.")]
    StarWithoutSingleSource,
    #[error("'SELECT *' is not allowed with GROUP BY.")]
    StarWithGroupBy,
    #[error("The {name} function requires {expected} argument(s).")]
    ArgumentCount { name: String, expected: String },
    #[error("The timespan argument provided to the DateTime function is invalid.")]
    TimeSpan,
    #[error("The count value provided for a TOP clause must be an integer.")]
    TopCount,
    #[error("The OFFSET count value exceeds the maximum allowed value.")]
    OffsetCount,
    #[error("The LIMIT count value exceeds the maximum allowed value.")]
    LimitCount,
    #[error(
        "Cannot perform an aggregate function on an expression containing an aggregate or a subquery."
    )]
    NestedAggregate,
    #[error("Aggregates are not allowed in the WHERE clause.")]
    AggregateInWhere,
    #[error(
        "Cannot use an aggregate or a subquery in an expression used for the group by list of a \
         GROUP BY clause."
    )]
    AggregateInGroupBy,
    #[error("Each GROUP BY expression must contain at least one property reference.")]
    ConstantGroupKey,
    #[error(
        "Property reference '{0}' is invalid in the select list because it is not contained in \
         either an aggregate function or the GROUP BY clause."
    )]
    Ungrouped(String),
    #[error(
        "Property reference '{0}' is invalid in the ORDER BY clause because it is not contained in \
         either an aggregate function or the GROUP BY clause."
    )]
    UngroupedOrder(String),
    #[error("The cardinality of a scalar subquery result set cannot be greater than one.")]
    Cardinality,
    #[error("'ORDER BY' is not supported in subqueries.")]
    OrderByInSubquery,
    #[error("'TOP' is not supported in subqueries.")]
    TopInSubquery,
    #[error("'OFFSET LIMIT' clause is not supported in subqueries.")]
    OffsetLimitInSubquery,
    #[error("A TOP cannot be used in the same query or subquery as an OFFSET.")]
    TopWithOffset,
    #[error(
        "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."
    )]
    OrderByPath,
    #[error(
        "Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported. \
         VectorDistance will always sort in the order of most similar (first) to least similar \
         (last)."
    )]
    VectorDirection,
    #[error(
        "The third argument provided in the VectorDistance function is invalid. This value must be \
         a boolean value set to either \"true\" to execute an exact search or \"false\" to execute \
         an efficient search leveraging the index."
    )]
    VectorExactness,
    #[error("Options argument of VectorDistance function must be an object literal expression.")]
    VectorOptions,
    #[error("'{0}' is not a valid option name for VectorDistance function options argument.")]
    UnknownVectorOption(String),
    #[error(
        "VectorDistance function options argument property value '{value}' is not a valid value \
         for option '{option}'."
    )]
    VectorOptionText { option: String, value: String },
    #[error(
        "VectorDistance function options argument property value of option '{option}' must be a \
         {expected} literal."
    )]
    VectorOptionType {
        option: String,
        expected: &'static str,
    },
    #[error(
        "The '{option}' value {value} specified in the VectorDistance function is outside the \
         supported range. The value must be between 1 and {max}."
    )]
    VectorOption {
        option: String,
        value: i64,
        max: u32,
        code: &'static str,
    },
    #[error(
        "The '{option}' value specified in the VectorDistance function must be an integer between \
         1 and {max}."
    )]
    VectorOptionFraction {
        option: String,
        max: u32,
        code: &'static str,
    },
    #[error(
        "The 'filterPriority' value specified in the VectorDistance function must be a value \
         between 0 and 1."
    )]
    VectorPriority,
    #[error("The DISTINCT keyword is not allowed with the ORDER BY RANK clause.")]
    RankWithDistinct,
    #[error(
        "The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore \
         function call."
    )]
    RankFunction,
    #[error("Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.")]
    RankDirection,
    #[error("The FROM clause with the IN operator is not allowed with the ORDER BY RANK clause.")]
    RankWithIteration,
    #[error("The JOIN operator is not allowed with the ORDER BY RANK clause.")]
    RankWithJoin,
    #[error("Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.")]
    RankWithFromSubquery,
    #[error("Aggregate functions are not allowed with the ORDER BY RANK clause.")]
    RankWithAggregate,
    #[error("The GROUP BY clause is not allowed with the ORDER BY RANK clause.")]
    RankWithGroups,
    #[error("The ORDER BY RANK clause is not supported in subqueries.")]
    RankInSubquery,
    #[error(
        "The last parameter of the RRF function is an optional array of weights. When present, it \
         must be a literal array of numbers, one for each of the component scores used for the RRF \
         function. The length of this array must be the same as the number of component scores."
    )]
    RankWeights,
    #[error("A score fusion function requires at least two component score functions.")]
    TooFewScores,
    #[error("The FullTextScore function is only allowed in the ORDER BY RANK clause.")]
    MisplacedFullTextScore,
    #[error(
        "The second through last arguments of the '{0}' function must be literals of type string \
         or object specifying the fuzzy search argument containing a 'term' property which is a \
         string and a 'distance' property which is a number between 0 and 2 (inclusive)."
    )]
    SearchTerm(String),
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
            ProblemKind::StarWithoutFrom => Code::Text("SC1021"),
            ProblemKind::UnresolvedIdentifier(_) => Code::Text("SC2001"),
            ProblemKind::UnknownFunction(_) => Code::Text("SC2005"),
            ProblemKind::DuplicateAlias(_) => Code::Text("SC2021"),
            ProblemKind::DuplicateName(_) => Code::Text("SC2022"),
            ProblemKind::DuplicateVariable(_) => Code::Text("SC2023"),
            ProblemKind::StarWithGroupBy => Code::Text("SC2041"),
            ProblemKind::StarWithoutSingleSource => Code::Text("SC2042"),
            ProblemKind::ArgumentCount { .. } => Code::Text("SC2050"),
            ProblemKind::TimeSpan => Code::Text("SC2053"),
            ProblemKind::TopCount => Code::Text("SC2060"),
            ProblemKind::LimitCount => Code::Text("SC2061"),
            ProblemKind::OffsetCount => Code::Text("SC2062"),
            ProblemKind::NestedAggregate => Code::Text("SC2101"),
            ProblemKind::Ungrouped(_) => Code::Text("SC2102"),
            ProblemKind::UngroupedOrder(_) => Code::Text("SC2103"),
            ProblemKind::AggregateInWhere => Code::Text("SC2104"),
            ProblemKind::ConstantGroupKey => Code::Text("SC2110"),
            ProblemKind::AggregateInGroupBy => Code::Text("SC2111"),
            ProblemKind::Cardinality => Code::Text("SC2201"),
            ProblemKind::OrderByInSubquery => Code::Text("SC2202"),
            ProblemKind::TopInSubquery => Code::Text("SC2203"),
            ProblemKind::OffsetLimitInSubquery => Code::Text("SC2204"),
            ProblemKind::TopWithOffset => Code::Text("SC2205"),
            ProblemKind::OrderByPath => Code::Number(2206),
            ProblemKind::VectorDirection
            | ProblemKind::VectorOptions
            | ProblemKind::UnknownVectorOption(_)
            | ProblemKind::VectorOptionText { .. }
            | ProblemKind::VectorOptionType { .. } => Code::Text("SC2210"),
            ProblemKind::VectorExactness => Code::Text("SC2212"),
            ProblemKind::VectorOption { code, .. }
            | ProblemKind::VectorOptionFraction { code, .. } => Code::Text(code),
            ProblemKind::VectorPriority => Code::Text("SC2215"),
            ProblemKind::RankWithDistinct => Code::Text("SC2220"),
            ProblemKind::RankFunction => Code::Text("SC2221"),
            ProblemKind::RankDirection => Code::Text("SC2222"),
            ProblemKind::RankWithIteration => Code::Text("SC2223"),
            ProblemKind::RankWithJoin => Code::Text("SC2224"),
            ProblemKind::RankWithFromSubquery => Code::Text("SC2225"),
            ProblemKind::RankWithAggregate => Code::Text("SC2226"),
            ProblemKind::RankWithGroups => Code::Text("SC2227"),
            ProblemKind::RankInSubquery => Code::Text("SC2228"),
            ProblemKind::RankWeights => Code::Text("SC2229"),
            ProblemKind::TooFewScores => Code::Text("SC2233"),
            ProblemKind::MisplacedFullTextScore => Code::Text("SC2240"),
            ProblemKind::SearchTerm(_) => Code::Text("SC2241"),
            ProblemKind::MemberIndexer => Code::Text("SC2990"),
            ProblemKind::TooMany { .. } => Code::Unknown,
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
