use azure_data_cosmos::{
    ContainerClient,
    options::{ItemReadOptions, ItemWriteOptions, Precondition},
};

use crate::fixture::{create, item, new_container, run, status};

#[test]
fn if_match() {
    run(async {
        let container = new_container().await;
        let stale = create(&container, "a", item("1", "a"))
            .await
            .headers()
            .etag()
            .unwrap()
            .clone();
        let current = container
            .replace_item("a", "1", item("1", "a"), None)
            .await
            .unwrap();
        let current = current.headers().etag().unwrap().clone();

        let stale = || when(Precondition::if_match(stale.clone()));
        assert_eq!(
            status(
                container
                    .replace_item("a", "1", item("1", "a"), stale())
                    .await
            ),
            412
        );
        assert_eq!(
            status(
                container
                    .upsert_item("a", "1", item("1", "a"), stale())
                    .await
            ),
            412
        );
        assert_eq!(status(container.delete_item("a", "1", stale()).await), 412);

        let fresh = when(Precondition::if_match(current));
        let next = container
            .replace_item("a", "1", item("1", "a"), fresh)
            .await
            .unwrap();
        let next = next.headers().etag().unwrap().clone();
        container
            .delete_item("a", "1", when(Precondition::if_match(next)))
            .await
            .unwrap();
    });
}

#[test]
fn if_none_match() {
    run(async {
        let container = new_container().await;
        let etag = create(&container, "a", item("1", "a"))
            .await
            .headers()
            .etag()
            .unwrap()
            .clone();
        let upsert = container
            .upsert_item(
                "a",
                "1",
                item("1", "a"),
                when(Precondition::if_none_match("*")),
            )
            .await;
        assert_eq!(status(upsert), 412);
        assert_eq!(
            read_status(&container, Precondition::if_none_match(etag)).await,
            304
        );
        assert_eq!(
            read_status(&container, Precondition::if_none_match("\"other\"")).await,
            200
        );
    });
}

async fn read_status(container: &ContainerClient, precondition: Precondition) -> u16 {
    let options = ItemReadOptions::default().with_precondition(precondition);
    match container.read_item("a", "1", Some(options)).await {
        Ok(response) => u16::from(response.status()),
        Err(error) => u16::from(error.status()),
    }
}

fn when(precondition: Precondition) -> Option<ItemWriteOptions> {
    Some(ItemWriteOptions::default().with_precondition(precondition))
}
