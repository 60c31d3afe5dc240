//! Makes the token of a permission: resolves the link of the permission to the resource that has
//! this name now.
//!
//! A permission may name only a resource in the database of the permission's user. As in Cosmos DB,
//! a permission may have a link by resource id to a resource that does not exist; the token of such
//! a permission opens nothing but the account document.

use std::sync::Arc;

use orrery_engine::{Catalogue, ContainerEntry, FeedRequest, FeedScope, QueryText, RequestBudget};
use orrery_json::Value;
use orrery_keys::{DatabaseRid, ItemRid, PartitionKey};
use orrery_model::{ContainerAddress, DatabaseAddress, Failure, ItemAddress, Permission, limits};
use orrery_wire::{Grant, GrantTarget, GrantedItems, RequestPath, Resource};

use crate::exchange::Exchange;

/// The most items of one id that a link by name without a partition key may name.
const ITEMS_MAX: usize = 16;

/// Makes the token of a permission, for the answer that contains the permission.
pub(crate) async fn mint(
    exchange: &Exchange<'_>,
    permission: &Permission,
) -> Result<String, Failure> {
    // A token cannot make tokens: this line fails for a request under a token.
    let made_with = *exchange.authority.token_key()?;
    let lifetime = exchange.headers.token_lifetime_seconds()?;
    // The link is resolved for every token, so a token covers the resource that has the name now.
    let link = Link {
        database: permission.rid.user().database(),
        text: &permission.resource,
        partition_key: permission.partition_key.as_ref(),
    };
    let target = match link.target(exchange).await {
        Ok(target) => target,
        // The permission stays readable after its resource was deleted; only its token is empty.
        Err(Failure::BadRequest(_) | Failure::NotFound(_)) => GrantTarget::Nothing,
        Err(failure) => return Err(failure),
    };
    let grant = Grant {
        target,
        mode: permission.mode,
        partition_key: permission.partition_key.clone(),
        expires_seconds: exchange.engine().now_seconds() + lifetime,
    };
    // Two tokens of one grant must differ, and only the nonce makes them differ.
    let nonce = exchange.state.activity_ids.nonce();
    Ok(exchange
        .state
        .token_secret()
        .mint(&grant, &made_with, nonce))
}

/// Refuses a permission whose token would open nothing, except for a link by resource id.
pub(crate) async fn check_permission(
    exchange: &Exchange<'_>,
    database: DatabaseAddress<'_>,
    resource: &str,
    partition_key: Option<&PartitionKey>,
) -> Result<(), Failure> {
    let catalogue = exchange.catalogue();
    let database = catalogue
        .database(database)
        .map_err(|_| Failure::OWNER_NOT_FOUND)?;
    let link = Link {
        database: database.database.rid,
        text: resource,
        partition_key,
    };
    let is_by_rid = RequestPath::parse(resource).is_ok_and(|path| path.is_by_rid());
    match link.target(exchange).await {
        Ok(_) => Ok(()),
        Err(Failure::NotFound(_)) if is_by_rid => Ok(()),
        Err(Failure::NotFound(_)) => Err(link.invalid(&format!(
            "does not exist in the database '{}' of its user. Create it first",
            database.database.id
        ))),
        Err(failure) => Err(failure),
    }
}

/// The fields of a permission that name its resource.
struct Link<'l> {
    /// The database of the user who has the permission.
    database: DatabaseRid,
    text: &'l str,
    partition_key: Option<&'l PartitionKey>,
}

impl Link<'_> {
    async fn target(&self, exchange: &Exchange<'_>) -> Result<GrantTarget, Failure> {
        let unknown = || {
            self.invalid("names no database, user, container, item or script. Send its link, such as 'dbs/d/colls/c'")
        };
        let path = RequestPath::parse(self.text).map_err(|_| unknown())?;
        let resource = path.resource().map_err(|_| unknown())?;
        let catalogue = exchange.catalogue();
        match resource {
            Resource::Database(address) => {
                let rid = catalogue.database(address)?.database.rid;
                self.check_database(rid)?;
                Ok(GrantTarget::Database(rid))
            }
            Resource::User(address) => {
                let rid = catalogue.user(address)?.1.user.rid;
                self.check_database(rid.database())?;
                Ok(GrantTarget::User(rid))
            }
            Resource::Container(address) => {
                let entry = self.container(&catalogue, address)?;
                Ok(GrantTarget::Container(entry.container.rid))
            }
            Resource::Script(address, kind, segment) => {
                let entry = self.container(&catalogue, address)?;
                let script = entry.scripts.find(address, kind, segment)?;
                Ok(GrantTarget::Script(script.rid))
            }
            // { => A link by name may name several items, one for each partition key.
            Resource::Item(address) => {
                let entry = self.container(&catalogue, address.container())?;
                let (id, rids) = match address {
                    ItemAddress::Rid(rid) => (None, vec![rid]),
                    ItemAddress::Name { id, .. } => {
                        (Some(id.to_owned()), self.items(exchange, &entry, id).await?)
                    }
                };
                Ok(GrantTarget::Items(GrantedItems {
                    container: entry.container.rid,
                    id,
                    rids,
                }))
            }
            _ => Err(unknown()),
        }
    }

    /// The container that the link names. Fails if the partition key of the permission does not fit
    /// the definition of the container.
    fn container(
        &self,
        catalogue: &Catalogue,
        address: ContainerAddress<'_>,
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let (_, entry) = catalogue.container(address)?;
        self.check_database(entry.container.rid.database())?;
        if let Some(key) = self.partition_key {
            if key.is_empty() {
                return Err(self.invalid(
                    "has a resourcePartitionKey without values. Name one, or leave it out",
                ));
            }
            let definition = entry.container.definition.key();
            definition.check_prefix(key).map_err(|error| {
                self.invalid(&format!("cannot have this resourcePartitionKey: {error}"))
            })?;
        }
        Ok(Arc::clone(entry))
    }

    fn check_database(&self, rid: DatabaseRid) -> Result<(), Failure> {
        if rid == self.database {
            return Ok(());
        }
        Err(self.invalid(
            "belongs to another database. Create the permission for a user of that database",
        ))
    }

    /// The items of this id: at most one with a partition key, or all items of the id.
    async fn items(
        &self,
        exchange: &Exchange<'_>,
        entry: &ContainerEntry,
        id: &str,
    ) -> Result<Vec<ItemRid>, Failure> {
        let items = match self.partition_key {
            Some(key) => vec![read_rid(exchange, entry, key, id)?],
            None => find_rids(exchange, entry, id).await?,
        };
        match items.len() {
            0 => Err(Failure::NOT_FOUND),
            1..=ITEMS_MAX => Ok(items),
            _ => Err(self.invalid(&format!(
                "is the id of more than {ITEMS_MAX} items. Name one by resourcePartitionKey"
            ))),
        }
    }

    fn invalid(&self, why: &str) -> Failure {
        Failure::BadRequest(format!(
            "One of the input values is invalid. The resource '{}' of the permission {why}.",
            self.text
        ))
    }
}

/// The resource id of the item with this key and id.
fn read_rid(
    exchange: &Exchange<'_>,
    entry: &ContainerEntry,
    key: &PartitionKey,
    id: &str,
) -> Result<ItemRid, Failure> {
    let engine = exchange.engine();
    // Resolving a link must not use up the throughput of the client's container.
    let budget = RequestBudget::unmetered(engine.consistency);
    let answer = engine.read_item(&entry.container, key, id, None, budget);
    let item = orrery_json::parse(&answer.result?.body.unwrap_or_default());
    item.ok()
        .and_then(|item| rid_in(item.get("_rid")))
        .ok_or(Failure::NOT_FOUND)
}

/// The resource ids of all items with this id, in all partitions.
async fn find_rids(
    exchange: &Exchange<'_>,
    entry: &ContainerEntry,
    id: &str,
) -> Result<Vec<ItemRid>, Failure> {
    let engine = exchange.engine();
    let query = QueryText {
        text: "SELECT VALUE c._rid FROM c WHERE c.id = @id".to_owned(),
        parameters: vec![("@id".to_owned(), Value::String(id.to_owned()))],
        resume: None,
    };
    let query = engine.compile(&query, &entry.container)?;
    let mut continuation = None;
    let mut items = Vec::new();
    loop {
        let request = FeedRequest {
            scope: FeedScope::Container,
            query: Some(Arc::clone(&query)),
            items_max: limits::PAGE_ITEMS_DEFAULT,
            continuation,
            continuation_bytes_max: None,
            budget: RequestBudget::unmetered(engine.consistency),
            wants_report: false,
            without_index: false,
            enable_scan: true,
        };
        let page = engine.feed(&entry.container, request).await.result?;
        let rids = page.items.iter().map(|row| orrery_json::parse(row).ok());
        items.extend(rids.filter_map(|rid| rid_in(&rid?)));
        continuation = page.continuation;
        // One item more than the limit is enough to refuse the link.
        if continuation.is_none() || items.len() > ITEMS_MAX {
            return Ok(items);
        }
    }
}

fn rid_in(value: &Value) -> Option<ItemRid> {
    ItemRid::parse(value.as_str()?).ok()
}
