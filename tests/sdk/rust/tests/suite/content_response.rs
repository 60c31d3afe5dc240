//! Without options the client sends `Prefer: return=minimal`: no body, but every header.

use azure_data_cosmos::models::ItemResponse;

use crate::fixture::{item, new_container, run};

#[test]
fn writes_answer_without_content() {
    run(async {
        let container = new_container().await;
        check(
            201,
            container
                .create_item("a", "1", item("1", "a"), None)
                .await
                .unwrap(),
        );
        check(
            200,
            container
                .upsert_item("a", "1", item("1", "a"), None)
                .await
                .unwrap(),
        );
        check(
            200,
            container
                .replace_item("a", "1", item("1", "a"), None)
                .await
                .unwrap(),
        );
    });
}

fn check(status: u16, response: ItemResponse) {
    assert_eq!(u16::from(response.status()), status);
    let headers = response.headers();
    assert!(headers.etag().is_some());
    assert!(headers.session_token().is_some());
    assert!(headers.request_charge().unwrap().value() > 0.0);
    assert!(response.into_body().is_empty());
}
