//! The parser refuses hostile text within the stack of a server thread.

use orrery_sql::{SyntaxErrorKind, parse, parse_filter};

fn check(text: &str, accepted: bool) {
    let shown: String = text.chars().take(40).collect();
    let result = parse(text);
    match &result {
        Ok(query) => {
            assert!(accepted, "{shown} is accepted");
            let printed = query.to_string();
            assert_eq!(parse(&printed).as_ref(), Ok(query), "{shown}");
        }
        Err(error) => assert!(!accepted, "{shown}: {error}"),
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |open: &str, close: &str, depth: usize| {
        format!(
            "SELECT VALUE {}1{}",
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    for (open, close) in [
        ("[", "]"),
        ("{a:", "}"),
        ("ABS(", ")"),
        ("c[", "]"),
        ("1+(", ")"),
        ("1?(", "):2"),
        ("1 IN (", ")"),
        ("-(", ")"),
        ("(LET x = 1 IN ", ")"),
    ] {
        check(&nested(open, close, 120), true);
        check(&nested(open, close, 8_000), false);
    }
    for open in ["(SELECT VALUE ", "EXISTS(SELECT VALUE ", "(SELECT * FROM "] {
        check(&nested(open, ")", 60), !open.contains('*'));
        check(&nested(open, ")", 8_000), false);
    }
}

#[test]
fn the_deepest_accepted_text_fits_the_stack() {
    for open in ["[", "1+(", "1?(", "ABS("] {
        let close = match open {
            "[" => "]",
            "1?(" => "):2",
            _ => ")",
        };
        let deepest = (200..260)
            .rev()
            .map(|depth| {
                format!(
                    "SELECT VALUE {}1{}",
                    open.repeat(depth),
                    close.repeat(depth)
                )
            })
            .find(|text| parse(text).is_ok());
        check(&deepest.unwrap(), true);
    }
}

#[test]
fn chains_are_bounded() {
    let chain = |link: &str, count: usize| format!("SELECT VALUE 1{}", link.repeat(count));
    for link in ["+1", "||1", "=1", ".a", "[0]"] {
        let first = if link.starts_with(['.', '[']) {
            "c"
        } else {
            "1"
        };
        let chain = |count| chain(link, count).replacen("VALUE 1", &format!("VALUE {first}"), 1);
        check(&chain(400), true);
        check(&chain(20_000), false);
    }
    check(&chain("??1", 200), true);
    check(&chain("??1", 20_000), false);
    check(&format!("SELECT VALUE {} 1", "- ".repeat(200)), true);
    check(&format!("SELECT VALUE {} 1", "NOT ".repeat(20_000)), false);
}

#[test]
fn long_lists_and_filters_are_fine() {
    let terms: Vec<String> = (0..2_000).map(|n| format!("c.a = {n}")).collect();
    check(
        &format!("SELECT * FROM c WHERE {}", terms.join(" OR ")),
        true,
    );
    check(
        &format!("SELECT * FROM c WHERE {}", terms.join(" AND ")),
        true,
    );
    let items: Vec<String> = (0..16_000).map(|n| n.to_string()).collect();
    check(
        &format!("SELECT * FROM c WHERE c.a IN ({})", items.join(",")),
        true,
    );
    check(
        &format!("SELECT VALUE {}1{}", "(".repeat(50_000), ")".repeat(50_000)),
        true,
    );
}

#[test]
fn length_is_bounded() {
    let text = format!("SELECT VALUE '{}'", "a".repeat(256 * 1024));
    assert!(matches!(
        parse(&text).unwrap_err().kind,
        SyntaxErrorKind::TooLong { .. }
    ));
}

#[test]
fn filters_have_two_clauses() {
    for text in ["from c where c.n = 3", "FROM c x WHERE x.n = 3 -- yes"] {
        let query = parse_filter(text).unwrap();
        assert!(query.filter.is_some(), "{text}");
    }
    for text in [
        "",
        "where c.n = 3",
        "from c",
        "c.n = 3",
        "select * from c where true",
        "from c where true order by c.n",
        "from c where true group by c.n",
    ] {
        assert!(parse_filter(text).is_err(), "{text}");
    }
}
