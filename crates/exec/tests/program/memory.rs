//! Limits of the memory that a query borrows from its client's share.

use orrery_exec::{ExecError, PAGE_MEMORY_BYTES_MAX, PageLimits, ResultRow};
use orrery_memory::{MemoryPool, MemoryShare};

use super::support::{Scope, json, program, value};

const MEBIBYTE: usize = 1 << 20;

fn numbers(count: usize) -> Scope {
    let list: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    Scope::of(vec![json(&format!(
        r#"{{"arr":[{}],"text":"{}","object":{{"a":1,"b":2,"c":3}}}}"#,
        list.join(","),
        "a,".repeat(10_000)
    ))])
}

fn limits(items_max: usize) -> PageLimits<'static> {
    PageLimits {
        items_max,
        bytes_max: 4 << 20,
        deadline: None,
        now_ticks: 0,
        position_bytes_max: 480,
    }
}

/// The number of rows of the first page, which borrows from `share`.
fn rows(scope: &Scope, text: &str, share: &MemoryShare) -> Result<usize, ExecError> {
    let page = scope.page_of(&program(text), None, limits(100), share)?;
    Ok(page.rows.len())
}

/// Queries that once made hundreds of megabytes from a document of 20 KB.
const GREEDY: &[&str] = &[
    "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT a, b, d FROM a IN c.arr JOIN b IN c.arr JOIN d IN c.arr)) FROM c",
    "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT DISTINCT VALUE [a, b, d] FROM a IN c.arr JOIN b IN c.arr JOIN d IN c.arr)) FROM c",
    "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT a, b, d, COUNT(1) AS n FROM a IN c.arr JOIN b IN c.arr JOIN d IN c.arr GROUP BY a, b, d)) FROM c",
    "SELECT DISTINCT a, MAX(CONCAT(c.text, c.text, c.text, ToString(a), ToString(b))) AS m FROM c JOIN a IN c.arr JOIN b IN c.arr GROUP BY a, b",
    "SELECT VALUE MAKELIST(c.text) FROM c JOIN a IN c.arr JOIN b IN c.arr",
    "SELECT DISTINCT VALUE {a: a, b: b, t: CONCAT(c.text, ToString(d))} FROM c JOIN a IN c.arr JOIN b IN c.arr JOIN d IN c.arr ORDER BY c.x",
    "SELECT VALUE ARRAY_LENGTH(StringSplit(CONCAT(c.text, c.text, c.text, c.text, c.text, c.text, c.text, c.text), ',')) \
     FROM c JOIN (SELECT VALUE ARRAY(SELECT VALUE StringSplit(c.text, ',') FROM a IN c.arr)) s",
    "SELECT VALUE ARRAY_LENGTH(ObjectToArray(c.object, CONCAT(c.text, c.text), \
     [ARRAY(SELECT VALUE c.text FROM a IN c.arr JOIN b IN c.arr)][0][0])) FROM c",
];

#[test]
fn what_a_query_makes_is_counted_as_allocated() {
    let scope = numbers(200);
    let pool = MemoryPool::new(64 * MEBIBYTE);
    for text in GREEDY {
        let refused = rows(&scope, text, &pool.share());
        assert!(
            matches!(refused, Err(ExecError::Exhausted(_))),
            "{text}: {refused:?}"
        );
        assert!(pool.peak() <= pool.limit() / 2);
        assert_eq!(pool.used(), 0, "{text}");
    }
}

#[test]
fn no_page_holds_more_than_any_page_may() {
    let refused = rows(&numbers(200), GREEDY[0], &MemoryShare::unlimited());
    let limit = PAGE_MEMORY_BYTES_MAX;
    assert_eq!(refused.unwrap_err(), ExecError::TooMuchMemory { limit });
}

#[test]
fn a_page_that_has_rows_ends_where_memory_is_refused() {
    let scope = numbers(200);
    // A page may have a thousand rows of 20 KB each, which is far more than the pool lends.
    let text = "SELECT VALUE [c.text, a] FROM c JOIN a IN c.arr";
    let all: Vec<_> = scope.rows(text);
    let pool = MemoryPool::new(MEBIBYTE);
    let share = pool.share();
    let program = program(text);
    let (mut found, mut pages, mut resume) = (Vec::new(), 0, None);
    loop {
        let page = scope.page_of(&program, resume, limits(1000), &share);
        let page = page.expect("a row fits");
        assert!(pool.used() > 0, "the rows are held");
        found.extend(page.rows.into_iter().map(value));
        pages += 1;
        resume = page.continuation;
        if resume.is_none() {
            break;
        }
    }
    assert_eq!(found, all);
    assert!(pages > 4, "{pages} pages");
    assert_eq!(pool.used(), 0);
}

#[test]
fn rows_are_held_until_the_page_goes() {
    let scope = numbers(10);
    let pool = MemoryPool::new(64 * MEBIBYTE);
    for text in [
        "SELECT * FROM c",
        "SELECT VALUE c.arr FROM c",
        "SELECT DISTINCT VALUE c.arr FROM c",
        "SELECT VALUE a FROM c JOIN a IN c.arr ORDER BY c.x",
        "SELECT a, COUNT(1) AS n FROM c JOIN a IN c.arr GROUP BY a",
    ] {
        let page = scope.page_of(&program(text), None, limits(100), &pool.share());
        let page = page.unwrap();
        assert!(
            page.rows
                .iter()
                .all(|row| matches!(row, ResultRow::Value(_) | ResultRow::Text(_)))
        );
        assert!(pool.used() > 0, "{text}");
        drop(page);
        assert_eq!(pool.used(), 0, "{text}");
    }
}

#[test]
fn work_of_functions_ends_at_the_deadline() {
    // Each call works on megabytes of text, without a loop row between two calls.
    let long = "a".repeat(1 << 20);
    let scope = Scope::of(vec![json(&format!(r#"{{"t":"{long}"}}"#))]);
    let upper = "UPPER(c.t) = c.t OR ".repeat(400);
    let like = "c.t LIKE CONCAT('%', LEFT(c.t, 500000), 'b%')";
    for filter in [&*format!("{upper} false"), like] {
        let text = format!("SELECT VALUE 1 FROM c WHERE {filter}");
        let looks = std::cell::Cell::new(0);
        let deadline = || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        let limits = PageLimits {
            deadline: Some(&deadline),
            ..limits(10)
        };
        let page = scope.page(&program(&text), None, limits);
        assert_eq!(page.unwrap_err(), ExecError::Timeout);
        assert_eq!(looks.get(), 3);
    }
}

#[test]
fn constants_that_take_long_are_not_worked_out_while_compiling() {
    let long = "REPLICATE('a', 10000)";
    let longer = format!("CONCAT({})", vec![long; 100].join(","));
    let pattern = format!("{longer} LIKE CONCAT('%', {longer}, 'b%')");
    let program = program(&format!("SELECT * FROM c WHERE c.a = 1 AND {pattern}"));
    assert!(!program.sargable_filter().is_exact);
}

#[test]
fn a_condition_that_takes_long_fails() {
    let document = json(&format!(r#"{{"t":"{}"}}"#, "a".repeat(1 << 20)));
    let holds = |text: &str| {
        let condition = orrery_exec::compile_condition(text).unwrap();
        condition.holds(&document)
    };
    assert_eq!(holds("FROM c WHERE c.t LIKE 'a%'"), Ok(true));
    let long = "FROM c WHERE c.t LIKE CONCAT('%', LEFT(c.t, 500000), 'b%')";
    assert!(matches!(holds(long), Err(ExecError::LimitExceeded { .. })));
}
