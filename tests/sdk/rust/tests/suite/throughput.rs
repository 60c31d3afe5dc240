use azure_data_cosmos::models::ThroughputProperties;

use crate::fixture::{new_container, new_container_with, new_database, properties, run, status};

#[test]
fn manual() {
    run(async {
        let container =
            new_container_with(properties("c"), Some(ThroughputProperties::manual(500))).await;
        let read = container.read_throughput(None).await.unwrap().unwrap();
        assert_eq!(read.throughput(), Some(500));
        assert_eq!(read.autoscale_maximum(), None);

        let poller = container
            .begin_replace_throughput(ThroughputProperties::manual(700), None)
            .await
            .unwrap();
        let replaced = poller.await.unwrap().into_model().unwrap();
        assert_eq!(replaced.throughput(), Some(700));
        let read = container.read_throughput(None).await.unwrap().unwrap();
        assert_eq!(read.throughput(), Some(700));
    });
}

#[test]
fn default_is_400() {
    run(async {
        let container = new_container().await;
        let read = container.read_throughput(None).await.unwrap().unwrap();
        assert_eq!(read.throughput(), Some(400));
    });
}

#[test]
fn out_of_range() {
    run(async {
        let container = new_container().await;
        for wrong in [100, 450] {
            let properties = ThroughputProperties::manual(wrong);
            let result = container.begin_replace_throughput(properties, None).await;
            assert_eq!(status(result.map(|_| ())), 400);
        }
    });
}

#[test]
fn autoscale() {
    run(async {
        let wanted = ThroughputProperties::autoscale(5000, Some(10));
        let container = new_container_with(properties("c"), Some(wanted)).await;
        let read = container.read_throughput(None).await.unwrap().unwrap();
        assert_eq!(read.autoscale_maximum(), Some(5000));
        assert_eq!(read.autoscale_increment(), Some(10));

        let poller = container
            .begin_replace_throughput(ThroughputProperties::autoscale(8000, None), None)
            .await
            .unwrap();
        let replaced = poller.await.unwrap().into_model().unwrap();
        assert_eq!(replaced.autoscale_maximum(), Some(8000));
    });
}

#[test]
fn database_without_throughput_has_none() {
    run(async {
        let database = new_database().await;
        assert!(database.read_throughput(None).await.unwrap().is_none());
    });
}
