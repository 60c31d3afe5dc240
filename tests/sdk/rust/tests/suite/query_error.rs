use azure_data_cosmos::FeedScope;

use crate::{catalogue::try_rows, fixture::run};

#[test]
fn codes() {
    run(async {
        for (query, code) in [
            ("SELEKT * FROM c", "SC1001"),
            ("SELECT * FROM c WHERE", "SC1002"),
            ("SELECT * FROM c WHERE c.mixed IS NULL", "SC1001"),
            ("SELECT VALUE d.id FROM c", "SC2001"),
            ("SELECT VALUE NOSUCH(c.n) FROM c", "SC2005"),
            ("SELECT VALUE STARTSWITH(c.name) FROM c", "SC2050"),
            (
                "SELECT VALUE ARRAY(SELECT TOP 1 VALUE p FROM p IN c.parts) FROM c",
                "SC2203",
            ),
            ("SELECT * FROM c ORDER BY LOWER(c.name)", "2206"),
        ] {
            for scope in [FeedScope::full_container(), FeedScope::partition("k0")] {
                let error = try_rows(query, scope, 10).await.expect_err(query);
                assert_eq!(u16::from(error.status()), 400, "{query}");
                let message = format!("{error:?}");
                assert!(message.contains(code), "{query}: {message}");
            }
        }
    });
}
