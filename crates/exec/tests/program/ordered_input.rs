//! Documents in row order: a walk may begin late and stop early without a change of the pages.

use std::cmp::Ordering;

use bytes::Bytes;
use orrery_exec::{
    Continuation, Flow, InputDocument, OrderBound, OrderKeyHint, PageLimits, Program, ResultRow,
};
use orrery_json::{Number, Value, compare};
use orrery_sql::ast::SortDirection;
use proptest::prelude::*;

use super::support::{json, program};

/// The text bytes of a value that an index entry holds. A text of this length is indistinguishable
/// from longer ones.
const TEXT_BYTES_MAX: usize = 4;

/// Whether the index holds the value exactly, cut, or only its type.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kept {
    Exactly,
    Cut,
    Type,
}

fn key_of(value: &Value) -> (Value, Kept) {
    match value {
        Value::String(text) if text.len() >= TEXT_BYTES_MAX => {
            (Value::from(&text[..TEXT_BYTES_MAX]), Kept::Cut)
        }
        Value::Number(Number::Int(_)) => {
            let double = value.as_number().map_or(0.0, Number::as_f64);
            let key = Value::Number(Number::Float(double));
            let is_small = double.abs() < 9e15;
            (key, if is_small { Kept::Exactly } else { Kept::Cut })
        }
        Value::Array(_) | Value::Object(_) => (value.clone(), Kept::Type),
        value => (value.clone(), Kept::Exactly),
    }
}

/// Documents in index order, with their resource ids.
struct Walk {
    columns: Vec<(String, SortDirection)>,
    documents: Vec<(Value, u64)>,
}

impl Walk {
    fn new(program: &Program, documents: &[Value]) -> Walk {
        let columns: Vec<_> = program
            .order_terms()
            .iter()
            .map(|term| match term.path.0.as_slice() {
                [orrery_exec::PathStep::Name(name)] => (name.clone(), term.direction),
                other => panic!("{other:?}"),
            })
            .collect();
        let mut documents: Vec<(Value, u64)> = documents.iter().cloned().zip(1..).collect();
        documents.sort_by(|(a, _), (b, _)| {
            let orders = columns.iter().map(|(name, direction)| {
                let order = compare(&key_of(a.get(name)).0, &key_of(b.get(name)).0);
                turned(order, *direction)
            });
            orders.fold(Ordering::Equal, Ordering::then)
        });
        Walk { columns, documents }
    }

    fn bound(&self, document: &Value) -> OrderBound {
        let mut bound = OrderBound {
            values: Vec::new(),
            is_cut_last: false,
        };
        for (name, _) in &self.columns {
            let (key, kept) = key_of(document.get(name));
            bound.values.push(key);
            bound.is_cut_last = kept == Kept::Cut;
            if kept != Kept::Exactly {
                break;
            }
        }
        bound
    }

    fn is_before(&self, document: &Value, hint: &OrderKeyHint) -> bool {
        let Some((name, direction)) = self.columns.first() else {
            return false;
        };
        let (key, _) = key_of(document.get(name));
        let (hint_key, _) = key_of(&hint.value);
        if let (Value::String(key), Value::String(hint), true) = (&key, &hint_key, hint.is_cut)
            && (key.starts_with(hint.as_str()) || hint.starts_with(key.as_str()))
        {
            return false;
        }
        turned(compare(&key, &hint_key), *direction) == Ordering::Less
    }

    /// A page, its continuation, and the number of documents it consumed.
    fn page(
        &self,
        program: &Program,
        resume: Option<Continuation>,
        limits: PageLimits<'_>,
        stops: bool,
    ) -> (Vec<ResultRow>, Option<Continuation>, usize) {
        let mut page = program.page(resume, limits).expect("a page");
        let hint = page.seek_hint().filter(|_| stops);
        let mut pushed = 0;
        for (document, rid) in &self.documents {
            if hint
                .as_ref()
                .is_some_and(|hint| self.is_before(document, hint))
            {
                continue;
            }
            if stops && page.is_past(&self.bound(document)) {
                break;
            }
            pushed += 1;
            let text = Bytes::from(document.to_string());
            let flow = page.push(InputDocument {
                value: document,
                rid: *rid,
                text: &text,
                scan_position: &rid.to_be_bytes(),
            });
            if flow.expect("no failure") == Flow::Full {
                break;
            }
        }
        let finished = page.finish().expect("a page");
        (finished.rows, finished.continuation, pushed)
    }
}

fn turned(order: Ordering, direction: SortDirection) -> Ordering {
    match direction {
        SortDirection::Ascending => order,
        SortDirection::Descending => order.reverse(),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Undefined),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        3 => (-1_i64..3).prop_map(Value::from),
        1 => Just(Value::from(1.5)),
        2 => (0_i64..4).prop_map(|low| Value::from((1_i64 << 60) + low)),
        1 => Just(Value::from(1_152_921_504_606_846_976_f64)),
        2 => "[ab]{0,2}".prop_map(Value::from),
        4 => "aaaa[ab]{0,2}".prop_map(Value::from),
        2 => "aaa[ab]{0,4}".prop_map(Value::from),
        1 => "[ab]{0,2}".prop_map(|end| Value::from(format!("{}{end}", "a".repeat(600)))),
        1 => Just(json("[1]")),
        1 => Just(json("[]")),
        1 => (0_i64..2).prop_map(|n| json(&format!(r#"{{"x":{n}}}"#))),
    ]
}

fn any_documents() -> impl Strategy<Value = Vec<Value>> {
    let document = (any_value(), any_value(), 0_i64..2).prop_map(|(a, b, n)| {
        let properties = [("a", a), ("b", b), ("n", Value::from(n))];
        let defined = properties
            .into_iter()
            .filter(|(_, value)| !value.is_undefined());
        Value::Object(
            defined
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    });
    prop::collection::vec(document, 0..14)
}

const QUERIES: &[&str] = &[
    "SELECT * FROM c ORDER BY c.a",
    "SELECT * FROM c ORDER BY c.a DESC",
    "SELECT VALUE c.n FROM c WHERE c.n = 1 ORDER BY c.a",
    "SELECT * FROM c ORDER BY c.a, c.b",
    "SELECT * FROM c ORDER BY c.a DESC, c.b",
    "SELECT * FROM c ORDER BY c.a, c.b DESC",
    "SELECT TOP 3 * FROM c ORDER BY c.a",
    "SELECT TOP 3 * FROM c ORDER BY c.a DESC",
    "SELECT * FROM c ORDER BY c.a OFFSET 2 LIMIT 3",
    "SELECT VALUE c.b FROM c ORDER BY c.a DESC OFFSET 1 LIMIT 4",
    "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a",
    "SELECT DISTINCT VALUE c.b FROM c ORDER BY c.a DESC",
    "SELECT DISTINCT c.b, c.a FROM c ORDER BY c.a DESC, c.b",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_scan_that_ends_early_gives_the_same_page(
        documents in any_documents(),
        items_max in 1_usize..6,
        bytes_max in prop_oneof![Just(1_usize << 20), 1_usize..60],
    ) {
        for text in QUERIES {
            let program = program(text);
            let walk = Walk::new(&program, &documents);
            let mut resume: Option<Continuation> = None;
            for _ in 0..100 {
                let limits = PageLimits { items_max, bytes_max, deadline: None, now_ticks: 0, position_bytes_max: 480 };
                let (rows, next, _) = walk.page(&program, resume.clone(), limits, false);
                let (early_rows, early_next, _) = walk.page(&program, resume, limits, true);
                prop_assert_eq!(early_rows, rows, "{}", text);
                prop_assert_eq!(&early_next, &next, "{}", text);
                resume = next;
                if resume.is_none() {
                    break;
                }
            }
            prop_assert!(resume.is_none(), "{} has no end", text);
        }
    }
}

#[test]
fn a_page_takes_little_more_than_its_rows() {
    let documents: Vec<Value> = (0..100).map(|n| json(&format!(r#"{{"a":{n}}}"#))).collect();
    for (text, expected) in [
        ("SELECT * FROM c ORDER BY c.a", 6),
        ("SELECT * FROM c ORDER BY c.a DESC", 6),
        ("SELECT TOP 5 * FROM c ORDER BY c.a", 5),
        ("SELECT * FROM c ORDER BY c.a OFFSET 10 LIMIT 5", 15),
        ("SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a", 6),
    ] {
        let program = program(text);
        let limits = PageLimits {
            items_max: 5,
            bytes_max: 1 << 20,
            deadline: None,
            now_ticks: 0,
            position_bytes_max: 480,
        };
        let walk = Walk::new(&program, &documents);
        let (rows, resume, pushed) = walk.page(&program, None, limits, true);
        assert_eq!((rows.len(), pushed), (5, expected), "{text}");
        if let Some(resume) = resume {
            let (rows, _, pushed) = walk.page(&program, Some(resume), limits, true);
            assert_eq!((rows.len(), pushed), (5, expected + 1), "{text}");
        }
    }
}
