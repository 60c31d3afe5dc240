use crate::fixture::{create, item, new_container, read, run, status};

#[test]
fn odd_ids() {
    run(async {
        let container = new_container().await;
        for id in [
            "with space",
            " leading",
            "a+b",
            "a%b",
            "a%20b",
            "a\"b",
            "a'b",
            "a&b=c",
            "a,b;c:d",
            "(a)[b]{c}",
            "~!@$^*_-.",
            "čeština",
            "日本語",
            "rocket 🚀",
            "e\u{301}",
            "CASE",
            "case",
            "a|b<c>d",
        ] {
            create(&container, "a", item(id, "a")).await;
            assert_eq!(read(&container, "a", id).await["id"], id);
            container
                .replace_item("a", id, item(id, "a"), None)
                .await
                .unwrap();
            container.delete_item("a", id, None).await.unwrap();
        }
    });
}

#[test]
fn length() {
    run(async {
        let container = new_container().await;
        create(&container, "a", item(&"x".repeat(1023), "a")).await;
        let long = "x".repeat(1024);
        assert_eq!(
            status(
                container
                    .create_item("a", &long, item(&long, "a"), None)
                    .await
            ),
            400
        );
    });
}
