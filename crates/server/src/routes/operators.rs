//! `/_orrery/dbs/{db}/colls/{coll}/…`: what operators see of partitions, and what they may move.

use hyper::Method;
use orrery_engine::{Cut, Standing, ThroughputKind};
use orrery_model::{ContainerAddress, DistributionChange, Failure};
use orrery_wire::{
    HotKeyDescription, PartitionDescription, PartitionsChange, PartitionsDescription, SplitAt,
    parse_body,
};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// What the partitions of a container are, or another cut of them, answered like a read.
pub(super) async fn partitions(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    match *exchange.method {
        Method::GET => {}
        Method::POST => reshape(exchange, container).await?,
        _ => return Err(Failure::MethodNotAllowed),
    }
    Ok(Reply::new(200, describe(exchange, container)?))
}

/// `{"split":{"id":"0","at":"data"}}` or `{"merge":["1","2"]}`
async fn reshape(exchange: &Exchange<'_>, container: ContainerAddress<'_>) -> Result<(), Failure> {
    let engine = exchange.engine();
    match PartitionsChange::parse(&parse_body(&exchange.body)?)? {
        PartitionsChange::Split(range, at) => {
            let cut = match at {
                SplitAt::Data => Cut::Data,
                SplitAt::Keys => Cut::KeyRange,
                SplitAt::Epk(epk) => Cut::At(epk),
            };
            engine.split_partition(container, range, cut).await?;
        }
        PartitionsChange::Merge(ranges) => {
            engine.merge_partitions(container, ranges).await?;
        }
    }
    Ok(())
}

/// Divides throughput anew and answers like a read of the partitions.
pub(super) async fn distribute(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    if *exchange.method != Method::POST {
        return Err(Failure::MethodNotAllowed);
    }
    let change = DistributionChange::parse(&parse_body(&exchange.body)?)?;
    exchange.engine().redistribute(container, change).await?;
    Ok(Reply::new(200, describe(exchange, container)?))
}

fn describe(exchange: &Exchange<'_>, container: ContainerAddress<'_>) -> Result<Vec<u8>, Failure> {
    let found = exchange.container(container)?;
    let container = &found.entry.container;
    let throughput = exchange.engine().container_throughput(container)?;
    let partitions = throughput.partitions.iter().map(|part| {
        let counters = part.partition.counters();
        let hot_keys = part.hot_keys.iter().map(|hot| HotKeyDescription {
            key: hot.key.to_json(),
            charge: hot.units,
            share: hot.share,
        });
        PartitionDescription {
            id: part.partition.id,
            range: &part.partition.range,
            parents: &part.partition.ancestors,
            items: counters.items,
            bytes: counters.bytes,
            counted: counters.standing != Standing::Estimated,
            lsn: counters.lsn,
            provisioned: part.meter.units,
            used: part.meter.used,
            charged: part.meter.charged,
            requests: part.meter.requests,
            throttled: part.meter.throttled,
            hot_keys: hot_keys.collect(),
        }
    });
    let description = PartitionsDescription {
        database: &found.database.database.id,
        container: &container.definition.id,
        mode: mode(throughput.kind),
        provisioned: throughput.provisioned,
        policy: if throughput.is_custom {
            "custom"
        } else {
            "equal"
        },
        partitions: partitions.collect(),
    };
    Ok(description.body())
}

fn mode(kind: ThroughputKind) -> &'static str {
    match kind {
        ThroughputKind::Manual => "manual",
        ThroughputKind::Autoscale => "autoscale",
        ThroughputKind::Shared => "shared",
        ThroughputKind::Serverless => "serverless",
        ThroughputKind::Off => "off",
    }
}
