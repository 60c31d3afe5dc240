//! Printing: the canonical form of each construct, and print then parse is identity.

use orrery_json::Number;
use orrery_sql::ast::{
    BinaryOp, Call, Collection, Expr, FromSource, Identifier, Literal, LogicalOp, OffsetLimit,
    OrderBy, OrderItem, PathStep, Projection, Property, Query, Quote, RowCount, Select, SelectItem,
    SortDirection, SubqueryKind, UnaryOp,
};
use orrery_sql::{Span, Spans, parse};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[test]
fn canonical_forms() {
    for (text, expected) in [
        (
            "select distinct top 3 * from c",
            "SELECT DISTINCT TOP 3 *\nFROM c",
        ),
        (
            "select c.a x, c['b'] as 'y z', Count(1) from c",
            "SELECT c.a AS x, c[\"b\"] AS \"y z\", Count(1)\nFROM c",
        ),
        (
            "select value {a: 'x', 'b': [1,.5]}",
            "SELECT VALUE {\"a\": \"x\", \"b\": [1, 0.5]}",
        ),
        ("select value -1 - - 1", "SELECT VALUE (-1 - (- 1))"),
        ("select value 1 <> 2", "SELECT VALUE (1 != 2)"),
        ("select value (1).a", "SELECT VALUE (1).a"),
        ("select value 0x1F + 1e3", "SELECT VALUE (31 + 1000)"),
        ("select value Infinity", "SELECT VALUE Infinity"),
        (
            "select value (let x = 1 + 2 in x)",
            "SELECT VALUE (LET x = (1 + 2) IN x)",
        ),
        (
            "select value udf.f(Left('a', 1))",
            "SELECT VALUE udf.f(LEFT(\"a\", 1))",
        ),
        (
            "select value c.rank from c order by rank",
            "SELECT VALUE c.rank\nFROM c\nORDER BY rank",
        ),
        (
            "select value a from c join (select value s from s in c.s group by s) s where exists(select 1)",
            "SELECT VALUE a\nFROM c\nJOIN (\n    SELECT VALUE s\n    FROM s IN c.s\n    GROUP BY s\n) AS s\nWHERE EXISTS(\n    SELECT 1\n)",
        ),
        (
            "select 1 from c[0].d['e'] order by c.a, c.b desc, c.d asc offset 1 limit @n",
            "SELECT 1\nFROM c[0].d[\"e\"]\nORDER BY c.a, c.b DESC, c.d ASC\nOFFSET 1 LIMIT @n",
        ),
    ] {
        assert_eq!(parse(text).unwrap().to_string(), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn print_then_parse_is_identity(query in query(expression())) {
        let text = query.to_string();
        let parsed = parse(&text);
        prop_assert_eq!(parsed.as_ref(), Ok(&query), "{}", text);
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_words_are_parsed_or_refused(words in vec(proptest::sample::select(WORDS), 0..20)) {
        if let Ok(query) = parse(&format!("SELECT {}", words.join(" "))) {
            let text = query.to_string();
            prop_assert_eq!(parse(&text), Ok(query), "{}", text);
        }
    }
}

const WORDS: &[&str] = &[
    "*",
    "VALUE",
    "c",
    ".",
    "a",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "1",
    "'s'",
    "@p",
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "BETWEEN",
    "??",
    "?",
    "+",
    "-",
    "=",
    "<",
    "||",
    "FROM",
    "WHERE",
    "AS",
    "JOIN",
    "SELECT",
    "EXISTS",
    "ARRAY",
    "ALL",
    "LET",
    "udf",
    "ORDER BY",
    "GROUP BY",
    "RANK",
    "TOP",
    "OFFSET",
    "LIMIT",
    "null",
    "undefined",
];

fn name() -> impl Strategy<Value = String> {
    proptest::sample::select(&["a", "b", "c", "Rank", "let", "ALL", "_x1"][..])
        .prop_map(str::to_owned)
}

fn identifier() -> impl Strategy<Value = Identifier> {
    name().prop_map(|name| Identifier {
        name,
        span: Span::default(),
    })
}

fn parameter() -> impl Strategy<Value = Identifier> {
    name().prop_map(|name| Identifier {
        name: format!("@{name}"),
        span: Span::default(),
    })
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Undefined),
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Bool),
        any::<i64>().prop_map(|value| Literal::Number(Number::from(value))),
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| Literal::Number(Number::from(value))),
        ".{0,6}".prop_map(Literal::String),
    ]
}

fn expression() -> impl Strategy<Value = Expr> + Clone {
    let leaf = prop_oneof![
        literal().prop_map(Expr::Literal),
        parameter().prop_map(Expr::Parameter),
        identifier().prop_map(Expr::Identifier),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new).boxed();
        prop_oneof![
            (boxed.clone(), name()).prop_map(|(object, name)| Expr::Member {
                object,
                name,
                name_span: Span::default(),
            }),
            (boxed.clone(), boxed.clone()).prop_map(|(object, index)| Expr::Index {
                object,
                index,
                span: Span::default(),
                index_span: Span::default(),
                quote: Quote::default(),
            }),
            (unary_op(), boxed.clone()).prop_map(|(op, operand)| Expr::Unary { op, operand }),
            (binary_op(), boxed.clone(), boxed.clone())
                .prop_map(|(op, left, right)| Expr::Binary { op, left, right }),
            (logical_op(), vec(inner.clone(), 2..4)).prop_map(logical),
            (boxed.clone(), vec(inner.clone(), 1..3), any::<bool>()).prop_map(
                |(needle, list, negated)| Expr::In {
                    needle,
                    list,
                    negated
                }
            ),
            (boxed.clone(), boxed.clone(), boxed.clone(), any::<bool>()).prop_map(
                |(value, low, high, negated)| Expr::Between {
                    value,
                    low,
                    high,
                    negated
                }
            ),
            (
                boxed.clone(),
                boxed.clone(),
                option::of(Just('!')),
                any::<bool>()
            )
                .prop_map(|(value, pattern, escape, negated)| Expr::Like {
                    value,
                    pattern,
                    escape,
                    negated
                }),
            (boxed.clone(), boxed.clone()).prop_map(|(left, right)| Expr::Coalesce { left, right }),
            (boxed.clone(), boxed.clone(), boxed.clone()).prop_map(
                |(condition, then, otherwise)| Expr::Conditional {
                    condition,
                    then,
                    otherwise
                }
            ),
            vec(inner.clone(), 0..3).prop_map(Expr::Array),
            vec((".{0,4}", inner.clone()), 0..3).prop_map(object),
            (any::<bool>(), identifier(), vec(inner.clone(), 0..3)).prop_map(
                |(udf, name, arguments)| {
                    Expr::Call(Call {
                        udf,
                        name,
                        arguments,
                        argument_spans: Spans::default(),
                        span: Span::default(),
                    })
                }
            ),
            (identifier(), boxed.clone(), boxed).prop_map(|(name, value, body)| Expr::Let {
                name,
                value,
                body
            }),
            (subquery_kind(), query(inner)).prop_map(|(kind, query)| Expr::Subquery {
                kind,
                query: Box::new(query)
            }),
        ]
    })
}

fn logical((op, terms): (LogicalOp, Vec<Expr>)) -> Expr {
    match &terms[0] {
        Expr::Logical { op: first, .. } if *first == op => Expr::Array(terms),
        _ => Expr::Logical { op, terms },
    }
}

fn object(properties: Vec<(String, Expr)>) -> Expr {
    let property = |(name, value)| Property {
        name,
        name_span: Span::default(),
        value,
    };
    Expr::Object(properties.into_iter().map(property).collect())
}

fn unary_op() -> impl Strategy<Value = UnaryOp> {
    proptest::sample::select(vec![
        UnaryOp::Not,
        UnaryOp::Minus,
        UnaryOp::Plus,
        UnaryOp::BitNot,
    ])
}

fn logical_op() -> impl Strategy<Value = LogicalOp> {
    proptest::sample::select(vec![LogicalOp::And, LogicalOp::Or])
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    proptest::sample::select(vec![
        BinaryOp::Multiply,
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::BitOr,
        BinaryOp::Concat,
        BinaryOp::Equal,
        BinaryOp::Less,
        BinaryOp::ShiftRightUnsigned,
    ])
}

fn subquery_kind() -> impl Strategy<Value = SubqueryKind> {
    proptest::sample::select(vec![
        SubqueryKind::Scalar,
        SubqueryKind::Exists,
        SubqueryKind::Array,
        SubqueryKind::All,
        SubqueryKind::First,
        SubqueryKind::Last,
    ])
}

fn count() -> impl Strategy<Value = RowCount> {
    prop_oneof![
        any::<u32>().prop_map(RowCount::Literal),
        parameter().prop_map(RowCount::Parameter)
    ]
}

fn query(expr: impl Strategy<Value = Expr> + Clone + 'static) -> impl Strategy<Value = Query> {
    let item = (expr.clone(), option::of(".{1,4}")).prop_map(|(expr, alias)| SelectItem {
        expr,
        alias,
        alias_span: Span::default(),
    });
    let projection = prop_oneof![
        Just(Projection::Star(Span::default())),
        expr.clone().prop_map(Projection::Value),
        vec(item, 1..3).prop_map(Projection::Items),
    ];
    let select =
        (any::<bool>(), option::of(count()), projection).prop_map(|(distinct, top, projection)| {
            Select {
                distinct,
                top,
                projection,
            }
        });
    let order_item =
        (expr.clone(), direction()).prop_map(|(expr, direction)| OrderItem { expr, direction });
    let offset_limit = (count(), count()).prop_map(|(offset, limit)| OffsetLimit { offset, limit });
    (
        select,
        vec(source(), 0..3),
        option::of(expr.clone()),
        vec(expr, 0..2),
        option::of(vec(order_item, 1..3).prop_map(OrderBy::Items)),
        option::of(offset_limit),
    )
        .prop_map(
            |(select, from, filter, group_by, order_by, offset_limit)| Query {
                select,
                from,
                filter,
                group_by,
                order_by,
                offset_limit,
                spans: Box::default(),
            },
        )
        .boxed()
}

fn direction() -> impl Strategy<Value = Option<SortDirection>> {
    option::of(proptest::sample::select(vec![
        SortDirection::Ascending,
        SortDirection::Descending,
    ]))
}

fn source() -> impl Strategy<Value = FromSource> {
    let step = prop_oneof![
        name().prop_map(PathStep::Name),
        ".{0,4}".prop_map(|key| PathStep::Key(key, Quote::Double)),
        any::<u64>().prop_map(PathStep::Index),
    ];
    let collection = (identifier(), vec(step, 0..3))
        .prop_map(|(root, steps)| Collection::Path { root, steps })
        .boxed();
    prop_oneof![
        (collection.clone(), option::of(identifier()))
            .prop_map(|(collection, alias)| FromSource::Value { collection, alias }),
        (identifier(), collection)
            .prop_map(|(alias, collection)| FromSource::Elements { alias, collection }),
    ]
}
