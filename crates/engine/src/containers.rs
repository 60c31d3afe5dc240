//! Containers: create, replace, delete.

use std::sync::Arc;

use orrery_json::Value;
use orrery_model::{
    ConflictKind, ContainerAddress, ContainerDefinition, DatabaseAddress, Failure, Lsn,
    Precondition, RangeId, Throughput, limits,
};
use orrery_partition::{
    Container, Counters, FIRST_LSN_OF_NEW, Partition, first_lsn_change, history_change, lsn_beyond,
    policy_change,
};

use crate::catalogue::{Catalogue, ContainerEntry, DatabaseEntry};
use crate::databases::check_match;
use crate::offers::new_offer;
use crate::{Engine, catalogue_rows};

#[derive(Debug)]
pub struct NewContainer {
    pub definition: ContainerDefinition,
    pub throughput: Option<Throughput>,
}

impl Engine {
    /// Creates a container, its first physical partitions and, unless it shares throughput, its
    /// offer.
    pub async fn create_container(
        &self,
        database: DatabaseAddress<'_>,
        new: NewContainer,
    ) -> Result<Arc<ContainerEntry>, Failure> {
        self.check_throughput(new.throughput)?;
        let is_serverless = self.is_serverless();
        let now_seconds = self.now_seconds();
        let created = self.change_catalogue(|catalogue, changes| {
            // The catalogue lock covers the choice of the LSN, because the LSN depends on earlier
            // deletions.
            let lsn = self.first_lsn(catalogue);
            let database = Arc::clone(catalogue.database(database).map_err(owner)?);
            let id = new.definition.id.clone();
            if database.containers.contains_key(&id) {
                return Err(Failure::Conflict(ConflictKind::Id));
            }
            let throughput = if is_serverless {
                EffectiveThroughput::SERVERLESS
            } else {
                effective_throughput(catalogue, &database, new.throughput)?
            };
            let rid = catalogue.next_container(database.database.rid);
            let link = catalogue_rows::self_link(rid);
            let ranges = new
                .definition
                .key()
                .initial_ranges(throughput.scale.partition_count());
            let partition = |(number, range)| {
                let id = RangeId(u32::try_from(number).expect("a few partitions"));
                let counters = Counters {
                    lsn,
                    ..Counters::default()
                };
                Arc::new(Partition::new(id, range, counters))
            };
            let partitions = ranges.into_iter().enumerate().map(partition).collect();
            let container = Container::new(rid, new.definition, partitions, link.clone());
            // The index policy and first LSN travel in the record of the creation, so no write can
            // come before them.
            changes.push(policy_change(&container, true));
            changes.push(first_lsn_change(&container));
            if container.keeps_history() {
                changes.push(history_change(&container));
            }
            let offer = throughput
                .own
                .map(|own| new_offer(catalogue, changes, link, rid.to_string(), own, now_seconds));
            let entry = ContainerEntry {
                container: Arc::new(container),
                etag: catalogue.next_etag(now_seconds),
                modified_seconds: now_seconds,
                offer,
                scripts: Arc::default(),
            };
            changes.push(catalogue_rows::put_container(&entry));
            catalogue.set_container(&database.database.id, entry.clone());
            Ok(Arc::new(entry))
        });
        let entry = created.await?;
        // Meters get their rates after the change is durable. A refused creation must not take
        // budget.
        self.assign_rates(&self.catalogue(), &entry.container);
        Ok(entry)
    }

    /// The first LSN of a new container's partitions. After a deletion it lies beyond every LSN of
    /// the account, so a session token of a deleted container is not ahead of its successor of the
    /// same name. In a multi-write account, session tokens name account streams, which continue.
    fn first_lsn(&self, catalogue: &Catalogue) -> Lsn {
        if self.region().is_none() && catalogue.has_deleted_containers() {
            lsn_beyond(self.store.applied())
        } else {
            FIRST_LSN_OF_NEW
        }
    }

    /// Replaces the definition of a container; `body` is the whole new definition.
    pub async fn replace_container(
        self: &Arc<Self>,
        address: ContainerAddress<'_>,
        body: &Value,
        if_match: Option<&Precondition>,
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let now_seconds = self.now_seconds();
        let (entry, ttl_changed, reindex, forget) = self
            .change_catalogue(|catalogue, changes| {
                let (database, old) = catalogue.container(address)?;
                let (database, old) = (database.database.id.clone(), Arc::clone(old));
                check_match(if_match, &old.etag)?;
                let definition = old.container.definition.replacement(body)?;
                // The new value shares the partitions and the alive flag with the old one.
                let container = old.container.with_definition(definition);
                let reindex = container.index().text() != old.container.index().text();
                if reindex {
                    changes.push(policy_change(&container, false));
                }
                let keeps_history = container.keeps_history();
                if keeps_history != old.container.keeps_history() {
                    changes.push(history_change(&container));
                }
                let entry = ContainerEntry {
                    container: Arc::new(container),
                    etag: catalogue.next_etag(now_seconds),
                    modified_seconds: now_seconds,
                    offer: old.offer,
                    scripts: Arc::clone(&old.scripts),
                };
                changes.push(catalogue_rows::put_container(&entry));
                let (before, after) = (old.container.default_ttl(), entry.container.default_ttl());
                let ttl_changed = before != after && after.is_some();
                // The TTL mark is part of the same record. A crash behind the replace leaves the
                // mark for the restart.
                if ttl_changed {
                    changes.push(catalogue_rows::put_ttl_change(entry.container.rid));
                }
                catalogue.set_container(&database, entry.clone());
                let forget = old.container.keeps_history() && !keeps_history;
                Ok((Arc::new(entry), ttl_changed, reindex, forget))
            })
            .await?;
        // All three steps depend on the durable definition, so they follow the change.
        if reindex {
            self.reindex(&entry.container);
        }
        if forget {
            self.trim_history_of(&entry.container).await?;
        }
        if ttl_changed {
            self.backfill_expiry(&entry.container);
        }
        Ok(entry)
    }

    /// Deletes a container. Its documents become unreachable at once and are purged in the
    /// background.
    pub async fn delete_container(
        self: &Arc<Self>,
        address: ContainerAddress<'_>,
        if_match: Option<&Precondition>,
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let entry = self
            .change_catalogue(|catalogue, changes| {
                let (database, entry) = catalogue.container(address)?;
                let (database, entry) = (database.database.id.clone(), Arc::clone(entry));
                check_match(if_match, &entry.etag)?;
                changes.extend(catalogue_rows::delete_container(&entry));
                if let Some(offer) = entry.offer {
                    catalogue.offers.remove(&offer.id());
                    changes.push(catalogue_rows::delete_offer(offer));
                }
                catalogue.remove_container(&database, &entry.container.definition.id);
                Ok(entry)
            })
            .await?;
        // The purge begins after the deletion is durable: purge steps are not in the log.
        self.purge_deleted(&[Arc::clone(&entry.container)]);
        Ok(entry)
    }

    /// The share of a container's documents that follow its newest indexing policy, in per cent.
    pub fn index_progress(&self, container: &Container) -> Result<u8, Failure> {
        let progress = self.store.index_progress(container.rid.id());
        progress.map_err(|error| Failure::Internal(error.to_string()))
    }
}

/// The throughput with which a container is created.
struct EffectiveThroughput {
    /// The container's own throughput, absent if it shares its database's throughput.
    own: Option<Throughput>,
    /// The throughput that determines the number of physical partitions.
    scale: Throughput,
}

impl EffectiveThroughput {
    const SERVERLESS: EffectiveThroughput = EffectiveThroughput {
        own: None,
        scale: Throughput::Manual(limits::MANUAL_RUS_MIN),
    };
}

/// The throughput of a new container: its own, its database's, or the default minimum.
fn effective_throughput(
    catalogue: &Catalogue,
    database: &DatabaseEntry,
    asked: Option<Throughput>,
) -> Result<EffectiveThroughput, Failure> {
    let shared = database
        .database
        .offer
        .and_then(|rid| catalogue.offers.get(&rid.id()));
    Ok(match (asked, shared) {
        (Some(own), _) => EffectiveThroughput {
            scale: own,
            own: Some(own),
        },
        (None, Some(shared)) => {
            let sharing = database
                .containers
                .values()
                .filter(|entry| entry.offer.is_none())
                .count();
            if sharing >= limits::SHARED_DATABASE_CONTAINERS_MAX {
                return Err(Failure::bad_request(format!(
                    "One of the input values is invalid. The number of containers that share the throughput \
                     of a database must not exceed {}. Give the container its own throughput.",
                    limits::SHARED_DATABASE_CONTAINERS_MAX
                )));
            }
            EffectiveThroughput {
                own: None,
                scale: shared.throughput,
            }
        }
        (None, None) => {
            let default = Throughput::Manual(limits::MANUAL_RUS_MIN);
            EffectiveThroughput {
                own: Some(default),
                scale: default,
            }
        }
    })
}

/// Reports a missing database as the missing owner of the resource, as the service does.
fn owner(failure: Failure) -> Failure {
    match failure {
        Failure::NotFound(_) => Failure::OWNER_NOT_FOUND,
        other => other,
    }
}
