//! The syntax tree.
//!
//! Parentheses leave no trace: the tree says what they meant. Names are as written; nothing is
//! resolved. Trees made by the parser are at most [`HEIGHT_MAX`](crate::HEIGHT_MAX) levels high, so
//! functions over them may recurse.

use orrery_json::Number;

use crate::Span;

/// `SELECT ... FROM ... WHERE ... GROUP BY ... ORDER BY ... OFFSET ... LIMIT ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub select: Select,
    /// The source of `FROM`, then one for each `JOIN`; empty without a `FROM` clause.
    pub from: Vec<Source>,
    pub filter: Option<Expr>,
    pub group_by: Vec<Expr>,
    pub order_by: Option<OrderBy>,
    pub offset_limit: Option<OffsetLimit>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    pub distinct: bool,
    pub top: Option<Count>,
    pub projection: Projection,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Projection {
    /// `*`, with its place.
    Star(Span),
    Value(Expr),
    Items(Vec<SelectItem>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SelectItem {
    pub expr: Expr,
    pub alias: Option<String>,
}

/// How many rows `TOP`, `OFFSET` or `LIMIT` ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum Count {
    Literal(u32),
    Parameter(Identifier),
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// `collection AS alias`: one row for its value, or one for each row of a subquery.
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

#[derive(Debug, Clone, PartialEq)]
pub enum Collection {
    Path {
        root: Identifier,
        steps: Vec<PathStep>,
    },
    Subquery(Box<Query>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum PathStep {
    /// `.name`
    Name(String),
    /// `["name"]`
    Key(String),
    /// `[0]`
    Index(u64),
}

#[derive(Debug, Clone, PartialEq)]
pub enum OrderBy {
    Items(Vec<OrderItem>),
    /// `ORDER BY RANK`; every expression is a call.
    Rank(Vec<OrderItem>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    /// As written; without it the order is ascending.
    pub direction: Option<Direction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OffsetLimit {
    pub offset: Count,
    pub limit: Count,
}

/// A name with its place. The name of a parameter begins with `@`.
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
    },
    /// `object[index]`
    Index {
        object: Box<Expr>,
        index: Box<Expr>,
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
    /// `a AND b AND c`, two terms at least. The chain associates to the left, so the first term
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

/// Equal when written alike: as a literal, `NaN` is `NaN`.
#[derive(Debug, Clone)]
pub enum Literal {
    Undefined,
    Null,
    Bool(bool),
    /// Finite, or `NaN`, or `Infinity`.
    Number(Number),
    String(String),
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Undefined, Literal::Undefined) | (Literal::Null, Literal::Null) => true,
            (Literal::Bool(one), Literal::Bool(other)) => one == other,
            (Literal::Number(one), Literal::Number(other)) => one.total_cmp(*other).is_eq(),
            (Literal::String(one), Literal::String(other)) => one == other,
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    pub name: String,
    pub value: Expr,
}

/// A call of a built-in function, or of a user's function as `udf.name(...)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub udf: bool,
    pub name: Identifier,
    pub arguments: Vec<Expr>,
    /// From the name to the closing parenthesis.
    pub span: Span,
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Not,
    Minus,
    Plus,
    BitNot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalOp {
    And,
    Or,
}

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
