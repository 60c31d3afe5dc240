//! Writing a seed: what exists stays, items are upserted.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use orrery_engine::{ContainerEntry, Engine, NewContainer, RequestBudget};
use orrery_model::{ContainerAddress, DatabaseAddress, Document, Operation, OperationKind};

use super::format::{Seed, SeedContainer, SeedDatabase, parse};

/// The number of items that one bulk request writes, so that the items share one sync.
const GROUP_ITEMS: usize = 512;
const PROGRESS_PERIOD: Duration = Duration::from_secs(2);

/// Loads a seed file; loading it again changes nothing but time stamps.
pub(crate) async fn load(engine: &Engine, path: &Path) -> Result<()> {
    let named = || format!("in the seed file {}", path.display());
    let text =
        fs::read(path).with_context(|| format!("cannot read the seed file {}", path.display()))?;
    let seed = parse(&text).with_context(named)?;
    let items = write(engine, seed).await.with_context(named)?;
    tracing::info!(path = %path.display(), items, "seed loaded");
    Ok(())
}

async fn write(engine: &Engine, seed: Seed) -> Result<usize> {
    let mut written = 0;
    for database in seed.databases {
        let SeedDatabase {
            id,
            throughput,
            containers,
        } = database;
        if engine
            .catalogue()
            .database(DatabaseAddress::Name(&id))
            .is_err()
        {
            let created = engine.create_database(&id, throughput).await;
            created.with_context(|| format!("cannot create database '{id}'"))?;
        }
        for container in containers {
            let name = container.definition.id.clone();
            written += write_container(engine, &id, container)
                .await
                .with_context(|| format!("database '{id}': container '{name}'"))?;
        }
    }
    Ok(written)
}

async fn write_container(engine: &Engine, database: &str, seed: SeedContainer) -> Result<usize> {
    let SeedContainer {
        definition,
        throughput,
        items,
    } = seed;
    let address = ContainerAddress::Name {
        database,
        container: &definition.id,
    };
    let existing = engine
        .catalogue()
        .container(address)
        .ok()
        .map(|(_, entry)| Arc::clone(entry));
    let entry = match existing {
        // An existing container cannot change its partition key, so such a seed is an error.
        Some(entry) if entry.container.definition.key() == definition.key() => entry,
        Some(_) => bail!("it exists with another partition key"),
        None => {
            let new = NewContainer {
                definition,
                throughput,
            };
            engine
                .create_container(DatabaseAddress::Name(database), new)
                .await?
        }
    };
    let count = items.len();
    upsert(engine, &entry, items).await?;
    Ok(count)
}

async fn upsert(engine: &Engine, entry: &ContainerEntry, items: Vec<Document>) -> Result<()> {
    let container = &entry.container;
    let total = items.len();
    let mut last_report = Instant::now();
    let mut items = items.into_iter().enumerate();
    loop {
        let mut names = Vec::with_capacity(GROUP_ITEMS);
        let mut operations = Vec::with_capacity(GROUP_ITEMS);
        for (index, item) in items.by_ref().take(GROUP_ITEMS) {
            names.push(format!("items[{index}] (id '{}')", item.id()));
            let key = container.definition.key().extract(item.value());
            operations.push((key, Operation::new(OperationKind::Upsert(item))));
        }
        if operations.is_empty() {
            return Ok(());
        }
        let answers = engine
            .bulk(
                container,
                operations,
                // The seed of an operator is not charged against the throughput of the container.
                RequestBudget::unmetered(engine.consistency),
                false,
            )
            .await;
        for (answer, name) in answers.into_iter().zip(names) {
            answer
                .result
                .map_err(|failure| anyhow!("{name}: {failure}"))?;
        }
        // A progress message every two seconds keeps the log short for small seeds.
        if last_report.elapsed() >= PROGRESS_PERIOD {
            last_report = Instant::now();
            let loaded = total - items.len();
            tracing::info!(
                container = container.definition.id,
                loaded,
                total,
                "loading the seed"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use orrery_engine::{ApplyAfter, Durability, EngineOptions, SystemClock};
    use orrery_model::ConsistencyLevel;

    use super::*;

    fn engine() -> Arc<Engine> {
        Engine::open(EngineOptions {
            multi_write: None,
            sweeps: true,
            maintenance: orrery_engine::MaintenanceOptions::default(),
            throughput: orrery_engine::ThroughputOptions::default(),
            directory: None,
            durability: Durability::None,
            cache_bytes: 0,
            apply_after: ApplyAfter::Durable,
            consistency: ConsistencyLevel::Session,
            scripts: orrery_engine::ScriptOptions::default(),
            partitions: orrery_engine::PartitionLimits::default(),
            clock: Arc::new(SystemClock),
        })
        .unwrap()
    }

    async fn seeded(engine: &Engine, text: &str) -> Result<usize> {
        write(engine, parse(text.as_bytes())?).await
    }

    fn read(engine: &Engine, id: &str) -> String {
        let address = ContainerAddress::Name {
            database: "db",
            container: "c",
        };
        let catalogue = engine.catalogue();
        let container = &catalogue.container(address).unwrap().1.container;
        let document = orrery_json::parse(br#"{"a":1}"#).unwrap();
        let key = container.definition.key().extract(&document);
        let answer = engine.read_item(container, &key, id, None, ConsistencyLevel::Session);
        let body = answer.result.unwrap().body.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_seed_is_loaded_and_loaded_again() {
        let engine = engine();
        let many = (0..=GROUP_ITEMS * 2).map(|id| format!(r#"{{"id":"{id}","a":1}}"#));
        let many = many.collect::<Vec<_>>().join(",");
        let file = |items: &str| {
            format!(
                r#"{{"databases":[{{"id":"db","containers":[{{"id":"c","partitionKey":"/a","items":[{items}]}}]}}]}}"#
            )
        };
        assert_eq!(
            seeded(&engine, &file(&many)).await.unwrap(),
            GROUP_ITEMS * 2 + 1
        );
        assert!(read(&engine, "1024").starts_with(r#"{"id":"1024","a":1"#));
        seeded(&engine, &file(r#"{"id":"7","a":1,"b":2}"#))
            .await
            .unwrap();
        assert!(read(&engine, "7").contains(r#""b":2"#));
        assert!(read(&engine, "8").contains(r#""id":"8""#));
        assert_eq!(engine.catalogue().databases.len(), 1);
        Engine::close(engine).unwrap();
    }

    #[tokio::test]
    async fn a_refused_item_is_named() {
        let engine = engine();
        let error = seeded(
            &engine,
            r#"{"databases":[{"id":"db","containers":[{"id":"c","partitionKey":"/a",
                "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/b"]}]},
                "items":[{"id":"1","a":1,"b":1},{"id":"2","a":1,"b":1}]}]}]}"#,
        );
        let error = format!("{:#}", error.await.unwrap_err());
        assert!(
            error.contains("container 'c'") && error.contains("items[1] (id '2')"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn another_partition_key_is_refused() {
        let engine = engine();
        let file = |path: &str| {
            format!(
                r#"{{"databases":[{{"id":"db","containers":[{{"id":"c","partitionKey":"{path}"}}]}}]}}"#
            )
        };
        seeded(&engine, &file("/a")).await.unwrap();
        let error = format!("{:#}", seeded(&engine, &file("/b")).await.unwrap_err());
        assert!(error.contains("another partition key"), "{error}");
    }
}
