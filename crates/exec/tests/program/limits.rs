//! Queries that exceed the limits of time or memory.

use std::cell::Cell;

use orrery_exec::{ExecError, PageLimits};

use super::support::{Scope, json, program};

fn numbers(count: usize) -> Scope {
    let list: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    Scope::of(vec![json(&format!(r#"{{"t":[{}]}}"#, list.join(",")))])
}

#[test]
fn a_deadline_ends_products() {
    let scope = numbers(1000);
    for text in [
        "SELECT VALUE 1 FROM c JOIN a IN c.t JOIN b IN c.t JOIN d IN c.t WHERE false",
        "SELECT VALUE EXISTS(SELECT 1 FROM a IN c.t JOIN b IN c.t JOIN d IN c.t WHERE false) FROM c",
        "SELECT VALUE COUNT(1) FROM c JOIN (SELECT VALUE MAX(a) FROM a IN c.t JOIN b IN c.t JOIN d IN c.t) x",
    ] {
        let looks = Cell::new(0);
        let deadline = || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        let limits = PageLimits {
            items_max: 10,
            bytes_max: 1 << 20,
            deadline: Some(&deadline),
            now_ticks: 0,
            position_bytes_max: 480,
        };
        let page = scope.page(&program(text), None, limits);
        assert_eq!(page.unwrap_err(), ExecError::Timeout, "{text}");
        assert_eq!(looks.get(), 3, "{text}");
    }
}

#[test]
fn values_that_double_end() {
    let mut body = "ARRAY_LENGTH(x29)".to_owned();
    for depth in (0..30).rev() {
        let before = if depth == 0 {
            "c.t".to_owned()
        } else {
            format!("x{}", depth - 1)
        };
        body = format!("(LET x{depth} = [{before}, {before}] IN {body})");
    }
    let program = program(&format!("SELECT VALUE {body} FROM c"));
    let refused = numbers(10).pages(&program, 1, 1);
    assert!(
        matches!(refused, Err(ExecError::TooMuchMemory { .. })),
        "{refused:?}"
    );
}

#[test]
fn groups_have_a_limit() {
    let scope = numbers(1000);
    let program = program("SELECT VALUE MAKELIST([a, b]) FROM c JOIN a IN c.t JOIN b IN c.t");
    assert_eq!(
        scope.pages(&program, 1, 1 << 20).unwrap_err().to_string(),
        "the query needs more than 500000 cells of groups"
    );
}

#[test]
fn a_long_offset_is_passed_over_in_pages() {
    let text =
        "SELECT VALUE [a, b] FROM c JOIN a IN c.t JOIN b IN c.t ORDER BY c.x OFFSET 60000 LIMIT 2";
    let scope = numbers(250);
    let first = scope.page(
        &program(text),
        None,
        PageLimits {
            items_max: 10,
            bytes_max: 1 << 20,
            deadline: None,
            now_ticks: 0,
            position_bytes_max: 480,
        },
    );
    assert_eq!(first.unwrap().rows, []);
    let rows = scope.pages(&program(text), 10, 1 << 20).unwrap();
    assert_eq!(rows, [json("[240,0]"), json("[240,1]")]);
}

#[test]
fn a_page_ends_at_its_bytes_with_one_row_at_least() {
    let scope = Scope::new(&[r#"{"a":"aaaaaaaa"}"#, r#"{"a":"bbbb"}"#, r#"{"a":"cccc"}"#]);
    for (text, bytes_max, sizes) in [
        ("SELECT VALUE c.a FROM c", 1, vec![1, 1, 1]),
        ("SELECT VALUE c.a FROM c", 14, vec![1, 2]),
        ("SELECT VALUE c.a FROM c", 100, vec![3]),
        ("SELECT VALUE c.a FROM c ORDER BY c.a", 1, vec![1, 1, 1]),
        ("SELECT VALUE c.a FROM c ORDER BY c.a", 14, vec![1, 2]),
        ("SELECT VALUE c.a FROM c ORDER BY c.a DESC", 14, vec![2, 1]),
        (
            "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a DESC",
            14,
            vec![2, 1],
        ),
        ("SELECT * FROM c", 1, vec![1, 1, 1]),
    ] {
        let program = program(text);
        let mut resume = None;
        let mut pages = Vec::new();
        loop {
            let limits = PageLimits {
                items_max: 100,
                bytes_max,
                deadline: None,
                now_ticks: 0,
                position_bytes_max: 480,
            };
            let page = scope.page(&program, resume, limits).unwrap();
            pages.push(page.rows.len());
            resume = page.continuation;
            if resume.is_none() {
                break;
            }
        }
        assert_eq!(pages, sizes, "{text} {bytes_max}");
    }
}

#[test]
fn work_is_counted() {
    let scope = Scope::new(&[r#"{"a":1,"t":[1,2]}"#, r#"{"a":2,"t":[3]}"#]);
    let limits = PageLimits {
        items_max: 100,
        bytes_max: 1 << 20,
        deadline: None,
        now_ticks: 0,
        position_bytes_max: 480,
    };
    let text = "SELECT VALUE t FROM c JOIN t IN c.t WHERE c.a = 1";
    let work = scope.page(&program(text), None, limits).unwrap().work;
    assert_eq!((work.documents, work.rows), (2, 2));
    assert_eq!(work.document_bytes, 32);
    assert!(work.steps >= 3);
}
