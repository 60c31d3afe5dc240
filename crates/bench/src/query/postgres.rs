//! The same documents in `PostgreSQL`, with the indexes a careful user creates for these queries.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::bulk::batches;
use super::case::Facts;
use super::data::{Dataset, GROUPS, PARTITIONS, ROWS};
use crate::postgres::Cluster;

const TABLE: &str = "CREATE TABLE docs (pk text, id text, doc jsonb)";
/// The indexes, created after loading, as the manual of `PostgreSQL` recommends.
const INDEXES: &str = "ALTER TABLE docs ADD PRIMARY KEY (pk, id); \
    CREATE INDEX docs_group ON docs (pk, (doc->>'group_in_pk')); \
    CREATE INDEX docs_category ON docs ((doc->>'category')); \
    CREATE INDEX docs_n ON docs (((doc->>'n')::numeric)); \
    CREATE INDEX docs_g ON docs ((doc->>'g'))";

/// The times of loading.
#[derive(Clone, Debug, Serialize)]
pub struct PostgresLoad {
    pub version: String,
    pub copy_seconds: f64,
    pub index_seconds: f64,
    /// The size of the table with its indexes.
    pub disk_bytes: u64,
}

/// Loads all documents into the table. This call blocks.
pub(crate) fn load(cluster: &Cluster, data: &Dataset, facts: Facts) -> Result<PostgresLoad> {
    cluster.sql(TABLE)?;
    let began = Instant::now();
    cluster.copy("COPY docs FROM STDIN", |out| {
        let mut row = Vec::new();
        // The order of the batches of the server under test, so that the same items are neighbours
        // on both sides.
        for (pk, items) in batches(data) {
            for index in items {
                let number = index * PARTITIONS + pk;
                row.clear();
                write!(row, "p{pk}\t{number}\t")?;
                data.write(&mut row, number);
                row.push(b'\n');
                out.write_all(&row)?;
            }
        }
        Ok(())
    })?;
    let copy_seconds = began.elapsed().as_secs_f64();
    let began = Instant::now();
    cluster.sql(INDEXES)?;
    // VACUUM cannot run in the transaction of another statement.
    cluster.sql("VACUUM (ANALYZE) docs")?;
    // Without the checkpoint its writes would fall into the measured time.
    cluster.sql("CHECKPOINT")?;
    let index_seconds = began.elapsed().as_secs_f64();
    // Before any measurement: a comparison over different data would be worthless.
    compare(cluster, data, facts)?;
    let disk_bytes = cluster.sql("SELECT pg_total_relation_size('docs')")?;
    Ok(PostgresLoad {
        version: cluster.version()?,
        copy_seconds,
        index_seconds,
        disk_bytes: disk_bytes.parse().context("the size of the table")?,
    })
}

/// Checks that `PostgreSQL` has the same documents as the server under test.
fn compare(cluster: &Cluster, data: &Dataset, facts: Facts) -> Result<()> {
    for (select, wanted) in [
        ("count(*) FROM docs", data.items as f64),
        ("sum((doc->>'score')::float8) FROM docs", facts.score_sum),
        (
            "count(*) FROM docs WHERE pk = 'p0' AND doc->>'group_in_pk' = 'g0'",
            data.rows_in_partition(0) as f64,
        ),
        (
            "count(*) FROM docs WHERE doc->>'category' = 'c0'",
            ROWS as f64,
        ),
        ("count(*) FROM docs WHERE (doc->>'n')::numeric < 20", 20.0),
        ("count(DISTINCT doc->>'g') FROM docs", GROUPS as f64),
        (
            "count(*) FROM docs WHERE (doc->>'raw')::numeric = 0",
            ROWS as f64,
        ),
    ] {
        let answer: f64 = cluster
            .sql(&format!("SELECT {select}"))?
            .parse()
            .with_context(|| format!("the answer to {select}"))?;
        let close = (answer - wanted).abs() <= wanted * 1e-12;
        ensure!(close, "{select} is {answer} instead of {wanted}");
    }
    Ok(())
}
