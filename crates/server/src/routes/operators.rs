//! `/_orrery/dbs/{db}/colls/{coll}/…`: the partitions of a container for operators, and orders to
//! split, merge and redistribute.

use hyper::Method;
use orrery_engine::{CounterStatus, SplitMethod, ThroughputKind};
use orrery_model::{ContainerAddress, DistributionChange, Failure};
use orrery_wire::{
    HotKeyDescription, PartitionDescription, PartitionsDescription, RepartitioningRequest, SplitAt,
    parse_body,
};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// Reads or repartitions the partitions of a container. Both are answered like a read.
pub(super) async fn partitions(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    match *exchange.method {
        Method::GET => {}
        Method::POST => repartition(exchange, container).await?,
        _ => return Err(Failure::MethodNotAllowed),
    }
    // Described after the change, so that the answer shows the new partitions.
    Ok(Reply::new(200, describe(exchange, container)?))
}

/// `{"split":{"id":"0","at":"data"}}` or `{"merge":["1","2"]}`
async fn repartition(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<(), Failure> {
    let engine = exchange.engine();
    match RepartitioningRequest::parse(&parse_body(&exchange.body)?)? {
        RepartitioningRequest::Split(range, at) => {
            let cut = match at {
                SplitAt::Data => SplitMethod::MiddleOfData,
                SplitAt::Keys => SplitMethod::MiddleOfRange,
                SplitAt::Epk(epk) => SplitMethod::At(epk),
            };
            engine.split_partition(container, range, cut).await?;
        }
        RepartitioningRequest::Merge(ranges) => {
            engine.merge_partitions(container, ranges).await?;
        }
    }
    Ok(())
}

/// Redistributes throughput over the partitions, and answers like a read of the partitions.
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

/// Describes all partitions with their size, their charge and their hot keys.
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
            counted: counters.status != CounterStatus::Estimated,
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

/// The name of a throughput mode in the answer.
fn mode(kind: ThroughputKind) -> &'static str {
    match kind {
        ThroughputKind::Manual => "manual",
        ThroughputKind::Autoscale => "autoscale",
        ThroughputKind::Shared => "shared",
        ThroughputKind::Serverless => "serverless",
        ThroughputKind::Off => "off",
    }
}
