//! The state between two pages.

use orrery_exec::{Continuation, ExecError, PageLimits};
use proptest::prelude::*;

use super::support::{Scope, program, value};

const ONE: PageLimits<'static> = PageLimits {
    items_max: 1,
    bytes_max: 1 << 20,
    deadline: None,
    now_ticks: 0,
    position_bytes_max: 480,
};

fn scope() -> Scope {
    Scope::new(&[
        r#"{"a":1,"t":[1,2,3]}"#,
        r#"{"a":2,"t":[4]}"#,
        r#"{"a":3,"t":[5]}"#,
    ])
}

#[test]
fn a_resume_belongs_to_its_kind_of_query() {
    let texts = [
        "SELECT * FROM c",
        "SELECT * FROM c ORDER BY c.a",
        "SELECT DISTINCT VALUE c.a FROM c",
    ];
    for text in texts {
        let resume = scope()
            .page(&program(text), None, ONE)
            .unwrap()
            .continuation;
        for other in texts {
            let page = scope().page(&program(other), resume.clone(), ONE);
            assert_eq!(page.is_ok(), text == other, "{text} {other}");
        }
    }
    let ascending = program("SELECT * FROM c ORDER BY c.a");
    let resume = scope().page(&ascending, None, ONE).unwrap().continuation;
    for other in [
        "SELECT * FROM c ORDER BY c.a DESC",
        "SELECT * FROM c ORDER BY c.a, c.b",
    ] {
        let page = scope().page(&program(other), resume.clone(), ONE);
        assert_eq!(page.unwrap_err(), ExecError::InvalidContinuation, "{other}");
    }
}

#[test]
fn a_document_that_is_gone_has_no_rows_left() {
    let program = program("SELECT VALUE t FROM t IN c.t");
    let limits = PageLimits {
        items_max: 2,
        ..ONE
    };
    let first = scope().page(&program, None, limits).unwrap();
    assert_eq!(first.rows.len(), 2);
    // The scan now finds other documents from that position on.
    let mut page = program.page(first.continuation, limits).unwrap();
    let start = page.start_position().unwrap().to_vec();
    let document = super::support::json(r#"{"t":[7,8]}"#);
    page.push(orrery_exec::InputDocument {
        value: &document,
        rid: 9,
        text: &bytes::Bytes::new(),
        scan_position: &[&start[..], &[1]].concat(),
    })
    .unwrap();
    let rows: Vec<_> = page.finish().unwrap().rows.into_iter().map(value).collect();
    assert_eq!(rows, [7.into(), 8.into()]);
}

#[test]
fn an_interrupted_page_goes_on() {
    let program = program("SELECT VALUE c.a FROM c");
    let mut page = program.page(None, ONE).unwrap();
    page.end_before(&[5]);
    let resume = page.finish().unwrap().continuation;
    let page = program.page(resume, ONE).unwrap();
    assert_eq!(page.start_position(), Some(&[5_u8][..]));
}

#[test]
fn damaged_bytes_are_refused() {
    for text in [
        "SELECT VALUE t FROM c JOIN t IN c.t",
        "SELECT * FROM c ORDER BY c.a, c.b DESC, c.t",
        "SELECT DISTINCT VALUE c.a FROM c",
        "SELECT VALUE c.a FROM c OFFSET 1 LIMIT 2",
    ] {
        let resume = scope()
            .page(&program(text), None, ONE)
            .unwrap()
            .continuation;
        let bytes = resume.unwrap().encode();
        for length in 0..bytes.len() {
            assert!(
                Continuation::decode(&bytes[..length]).is_err(),
                "{text} {length}"
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Continuation::decode(&longer).is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_can_be_decoded(bytes in prop::collection::vec(any::<u8>(), 0..64), kind in 0_u8..3) {
        let _ = Continuation::decode(&bytes);
        let bytes = [&[1, 0, 0, kind][..], &bytes].concat();
        if let Ok(resume) = Continuation::decode(&bytes) {
            for text in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.a", "SELECT DISTINCT VALUE c.a FROM c"] {
                let _ = scope().page(&program(text), Some(resume.clone()), ONE);
            }
            prop_assert_eq!(Continuation::decode(&resume.encode()).map(|again| again.encode()), Ok(resume.encode()));
        }
    }
}
