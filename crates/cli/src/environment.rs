//! The layer of settings that environment variables make.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, anyhow};

use crate::env_vars;
use crate::layer::Layer;
use crate::regions::{PeerList, RegionList};

/// Looks a variable up; the environment of the process, or that of a test.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Reads every variable. An empty one counts as absent.
pub(crate) fn layer(lookup: Lookup<'_>) -> Result<Layer> {
    Ok(Layer {
        listen: parsed(lookup, env_vars::LISTEN)?,
        advertise: parsed(lookup, env_vars::ADVERTISE)?,
        direct: parsed(lookup, env_vars::DIRECT)?,
        direct_listen: parsed(lookup, env_vars::DIRECT_LISTEN)?,
        tls: parsed(lookup, env_vars::TLS)?,
        data: path(lookup, env_vars::DATA),
        memory: parsed(lookup, env_vars::MEMORY)?,
        key: parsed(lookup, env_vars::KEY)?,
        secondary_key: parsed(lookup, env_vars::SECONDARY_KEY)?,
        read_only_key: parsed(lookup, env_vars::READ_ONLY_KEY)?,
        secondary_read_only_key: parsed(lookup, env_vars::SECONDARY_READ_ONLY_KEY)?,
        key_file: path(lookup, env_vars::KEY_FILE),
        allow_well_known_key: parsed(lookup, env_vars::ALLOW_WELL_KNOWN_KEY)?,
        durability: parsed(lookup, env_vars::DURABILITY)?,
        cache: parsed(lookup, env_vars::CACHE)?,
        memory_for_requests: parsed(lookup, env_vars::MEMORY_FOR_REQUESTS)?,
        connections: parsed(lookup, env_vars::CONNECTIONS)?,
        header_time: parsed(lookup, env_vars::HEADER_TIME)?,
        stall_time: parsed(lookup, env_vars::STALL_TIME)?,
        idle_time: parsed(lookup, env_vars::IDLE_TIME)?,
        request_time: parsed(lookup, env_vars::REQUEST_TIME)?,
        allowed_host: parsed::<String>(lookup, env_vars::ALLOWED_HOST)?.map(|names| {
            let names = names.split(',').map(str::trim);
            names.map(str::to_owned).collect()
        }),
        hsts: parsed(lookup, env_vars::HSTS)?,
        query_plans: parsed(lookup, env_vars::QUERY_PLANS)?,
        disk_reserve: parsed(lookup, env_vars::DISK_RESERVE)?,
        scrub: parsed(lookup, env_vars::SCRUB)?,
        throughput: parsed(lookup, env_vars::THROUGHPUT)?,
        serverless: parsed(lookup, env_vars::SERVERLESS)?,
        burst_capacity: parsed(lookup, env_vars::BURST_CAPACITY)?,
        partition_size: parsed(lookup, env_vars::PARTITION_SIZE)?,
        partition_throughput: parsed(lookup, env_vars::PARTITION_THROUGHPUT)?,
        logical_partition_size: parsed(lookup, env_vars::LOGICAL_PARTITION_SIZE)?,
        script_threads: parsed(lookup, env_vars::SCRIPT_THREADS)?,
        script_time: parsed(lookup, env_vars::SCRIPT_TIME)?,
        script_steps: parsed(lookup, env_vars::SCRIPT_STEPS)?,
        script_heap: parsed(lookup, env_vars::SCRIPT_HEAP)?,
        script_stack: parsed(lookup, env_vars::SCRIPT_STACK)?,
        script_response: parsed(lookup, env_vars::SCRIPT_RESPONSE)?,
        script_value: parsed(lookup, env_vars::SCRIPT_VALUE)?,
        script_log: parsed(lookup, env_vars::SCRIPT_LOG)?,
        seed: path(lookup, env_vars::SEED),
        consistency: parsed(lookup, env_vars::CONSISTENCY)?,
        bounded_versions: parsed(lookup, env_vars::BOUNDED_VERSIONS)?,
        bounded_seconds: parsed(lookup, env_vars::BOUNDED_SECONDS)?,
        region: parsed(lookup, env_vars::REGION)?.map(|RegionList(regions)| regions),
        account_listen: parsed(lookup, env_vars::ACCOUNT_LISTEN)?,
        peer: parsed(lookup, env_vars::PEER)?.map(|PeerList(peers)| peers),
        peer_listen: parsed(lookup, env_vars::PEER_LISTEN)?,
        peer_identity: path(lookup, env_vars::PEER_IDENTITY),
        join: parsed(lookup, env_vars::JOIN)?,
        multi_write: parsed(lookup, env_vars::MULTI_WRITE)?,
        per_partition_failover: parsed(lookup, env_vars::PER_PARTITION_FAILOVER)?,
        service_managed_failover: parsed(lookup, env_vars::SERVICE_MANAGED_FAILOVER)?,
        region_backlog: parsed(lookup, env_vars::REGION_BACKLOG)?,
        management: parsed(lookup, env_vars::MANAGEMENT)?,
        management_key_file: path(lookup, env_vars::MANAGEMENT_KEY_FILE),
        log: parsed(lookup, env_vars::LOG)?,
        ready_json: parsed(lookup, env_vars::READY_JSON)?,
    })
}

pub(crate) fn path(lookup: Lookup<'_>, name: &str) -> Option<PathBuf> {
    lookup(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn parsed<T: FromStr<Err: Display>>(lookup: Lookup<'_>, name: &str) -> Result<Option<T>> {
    // Containers often set a variable to the empty string to unset it.
    let Some(value) = lookup(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let text = value
        .into_string()
        .map_err(|_| anyhow!("environment variable {name} is not Unicode"))?;
    text.parse()
        .map(Some)
        .map_err(|error| anyhow!("environment variable {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_a_layer() {
        let layer = layer(&|name| match name {
            "ORRERY_CACHE" => Some("1GiB".into()),
            "ORRERY_MEMORY" => Some("true".into()),
            "ORRERY_LOG" => Some("".into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(layer.cache.unwrap().0, 1 << 30);
        assert_eq!(layer.memory, Some(true));
        assert_eq!(layer.log, None);
    }

    #[test]
    fn a_wrong_value_names_its_variable() {
        let error = layer(&|name| (name == "ORRERY_MEMORY").then(|| "perhaps".into())).unwrap_err();
        assert!(error.to_string().contains("ORRERY_MEMORY"), "{error}");
    }
}
