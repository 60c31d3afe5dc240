use azure_data_cosmos::options::ItemReadOptions;

use crate::fixture::{create, item, new_container, run};

#[test]
fn tokens() {
    run(async {
        let container = new_container().await;
        let created = create(&container, "a", item("1", "a")).await;
        let token = created.headers().session_token().expect("a token").clone();
        let options = ItemReadOptions::default().with_session_token(token);
        let read = container.read_item("a", "1", Some(options)).await.unwrap();
        assert!(read.headers().session_token().is_some());
        assert!(read.headers().lsn().is_some());
        assert_eq!(read.headers().partition_key_range_id(), Some("0"));
    });
}
