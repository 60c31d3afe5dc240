//! The syntax tree of a query.
//!
//! Parentheses leave no trace, because the shape of the tree expresses them. Names are kept as
//! written; the parser resolves none. A tree from the parser has at most
//! [`HEIGHT_MAX`](crate::HEIGHT_MAX) levels, so functions over trees may recurse.

use orrery_json::Number;

use crate::{Span, Spans};

/// A query: `SELECT ... FROM ... WHERE ... GROUP BY ... ORDER BY ... OFFSET ... LIMIT ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub select: Select,
    /// The source of `FROM`, followed by one source for each `JOIN`; empty without `FROM`.
    pub from: Vec<FromSource>,
    pub filter: Option<Expr>,
    pub group_by: Vec<Expr>,
    pub order_by: Option<OrderBy>,
    pub offset_limit: Option<OffsetLimit>,
    pub spans: Box<QuerySpans>,
}

/// The positions of the clauses of a query; those of absent clauses mean nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuerySpans {
    /// From `SELECT` to the end of the last clause.
    pub query: Span,
    pub select: Span,
    /// `TOP` with its count.
    pub top: Span,
    /// The sources of `FROM`, one span for each.
    pub sources: Spans,
    pub group_by: Span,
    /// The keys of `GROUP BY`, one span for each.
    pub group_keys: Spans,
    pub order_by: Span,
    pub offset_limit: Span,
}

/// The `SELECT` clause.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    pub distinct: bool,
    pub top: Option<RowCount>,
    pub projection: Projection,
}

/// The select list.
#[derive(Debug, Clone, PartialEq)]
pub enum Projection {
    /// `*`, with its position in the text.
    Star(Span),
    /// `VALUE expr`: the row is the value itself.
    Value(Expr),
    /// Expressions that become properties of the row.
    Items(Vec<SelectItem>),
}

/// One item of a select list.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectItem {
    pub expr: Expr,
    pub alias: Option<String>,
    /// The span of the alias; without one it means nothing.
    pub alias_span: Span,
}

/// The row count of `TOP`, `OFFSET` or `LIMIT`.
#[derive(Debug, Clone, PartialEq)]
pub enum RowCount {
    Literal(u32),
    Parameter(Identifier),
}

/// A source of rows.
#[derive(Debug, Clone, PartialEq)]
pub enum FromSource {
    /// `collection AS alias`: one row for its value, or one row for each row of a subquery.
    Value {
        collection: Collection,
        alias: Option<Identifier>,
    },
    /// `alias IN collection`: one row for each element.
    Elements {
        alias: Identifier,
        collection: Collection,
    },
}

/// The value that a source reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Collection {
    Path {
        root: Identifier,
        steps: Vec<PathStep>,
    },
    Subquery(Box<Query>),
}

/// One step of a path in a source.
#[derive(Debug, Clone, PartialEq)]
pub enum PathStep {
    /// `.name`
    Name(String),
    /// `["name"]`
    Key(String, Quote),
    /// `[0]`
    Index(u64),
}

/// The `ORDER BY` clause.
#[derive(Debug, Clone, PartialEq)]
pub enum OrderBy {
    Items(Vec<OrderItem>),
    /// `ORDER BY RANK`; the item is a function call.
    Rank(OrderItem),
}

/// One item of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    /// The direction as written; a missing direction means ascending.
    pub direction: Option<SortDirection>,
}

/// The direction of one order item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortDirection {
    Ascending,
    Descending,
}

/// The `OFFSET ... LIMIT ...` clause; the grammar has no `LIMIT` alone.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetLimit {
    pub offset: RowCount,
    pub limit: RowCount,
}

/// A name with its position. The name of a parameter begins with `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    pub name: String,
    pub span: Span,
}

/// A scalar expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Literal(Literal),
    Parameter(Identifier),
    Identifier(Identifier),
    /// `object.name`
    Member {
        object: Box<Expr>,
        name: String,
        name_span: Span,
    },
    /// `object[index]`, with the span of the whole expression.
    Index {
        object: Box<Expr>,
        index: Box<Expr>,
        span: Span,
        /// The first token of the index.
        index_span: Span,
        quote: Quote,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `a AND b AND c` with at least two terms. The chain associates to the left, so the first term
    /// is never a chain of the same operator.
    Logical {
        op: LogicalOp,
        terms: Vec<Expr>,
    },
    In {
        needle: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    Between {
        value: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    Like {
        value: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<char>,
        negated: bool,
    },
    /// `left ?? right`
    Coalesce {
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `condition ? then : otherwise`
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Array(Vec<Expr>),
    Object(Vec<Property>),
    Call(Call),
    Subquery {
        kind: SubqueryKind,
        query: Box<Query>,
    },
    /// `(LET name = value IN body)`
    Let {
        name: Identifier,
        value: Box<Expr>,
        body: Box<Expr>,
    },
}

/// The mark that encloses a name in brackets. All marks compare as equal, as spans do.
#[derive(Debug, Clone, Copy, Default)]
pub enum Quote {
    #[default]
    Double,
    Single,
}

impl Quote {
    /// The mark at the beginning of a token.
    pub(crate) fn of(token: &str) -> Quote {
        if token.starts_with('\'') {
            Quote::Single
        } else {
            Quote::Double
        }
    }
}

impl PartialEq for Quote {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Quote {}

/// A literal. Literals with the same spelling are equal, so `NaN` equals `NaN` here.
#[derive(Debug, Clone)]
pub enum Literal {
    Undefined,
    Null,
    Bool(bool),
    /// A finite number, `NaN`, or `Infinity`.
    Number(Number),
    String(String),
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Undefined, Literal::Undefined) | (Literal::Null, Literal::Null) => true,
            (Literal::Bool(one), Literal::Bool(other)) => one == other,
            // The total order makes `NaN` equal to itself, as the comparison of trees requires.
            (Literal::Number(one), Literal::Number(other)) => one.total_cmp(*other).is_eq(),
            (Literal::String(one), Literal::String(other)) => one == other,
            _ => false,
        }
    }
}

/// A property of an object expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    pub name: String,
    pub name_span: Span,
    pub value: Expr,
}

/// A call of a built-in function, or of a user-defined function as `udf.name(...)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub udf: bool,
    pub name: Identifier,
    pub arguments: Vec<Expr>,
    pub argument_spans: Spans,
    /// The span from the name to the closing parenthesis.
    pub span: Span,
}

/// The forms of a subquery in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubqueryKind {
    /// `(SELECT ...)`
    Scalar,
    Exists,
    Array,
    All,
    First,
    Last,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Not,
    Minus,
    Plus,
    BitNot,
}

/// Operators that form chains of terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalOp {
    And,
    Or,
}

/// Operators with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Multiply,
    Divide,
    Modulo,
    Add,
    Subtract,
    BitAnd,
    BitXor,
    BitOr,
    Concat,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
}
