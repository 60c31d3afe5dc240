//! All settings of a container, and the rules for replacing them.

use orrery_json::Value;
use orrery_keys::PartitionKeyDefinition;

use super::change_feed::ChangeFeedPolicy;
use super::computed::{self, ComputedProperty};
use super::conflict::{self, ConflictPolicy};
use super::fields::{DefinitionFields, invalid_input, object};
use super::full_text::{self, FullTextPolicy};
use super::geospatial::{self, Geospatial};
use super::indexing::IndexingPolicy;
use super::partition_key::PartitionKeySetting;
use super::unique_keys::{self, UniqueKey};
use super::vector::{self, VectorEmbedding};
use super::verbatim_path::VerbatimPath;
use super::{spatial, ttl};
use crate::{Failure, check_resource_id};

/// The definition of a container, as clients write it. The constructor has checked that no two
/// settings contradict.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerDefinition {
    pub id: String,
    pub partition_key: PartitionKeySetting,
    pub indexing: IndexingPolicy,
    pub unique_keys: Vec<UniqueKey>,
    pub conflict: ConflictPolicy,
    pub geospatial: Geospatial,
    /// The default time to live in seconds; -1 turns expiry on without a default.
    pub default_ttl: Option<i32>,
    /// The path of a property with seconds since the epoch that replaces `_ts` for expiry. Only
    /// containers of old versions of the protocol have it.
    pub ttl_property: Option<VerbatimPath>,
    pub analytical_ttl: Option<i64>,
    pub computed: Vec<ComputedProperty>,
    pub change_feed: ChangeFeedPolicy,
    pub vector_embeddings: Vec<VectorEmbedding>,
    pub full_text: Option<FullTextPolicy>,
    /// The encryption policy, which only clients read.
    pub client_encryption: Option<Value>,
}

/// The settings that a replace retains when its body does not contain them. A replace resets every
/// other missing setting.
const KEPT_BY_REPLACE: [&str; 5] = [
    "partitionKey",
    "uniqueKeyPolicy",
    "conflictResolutionPolicy",
    "geospatialConfig",
    "clientEncryptionPolicy",
];

impl ContainerDefinition {
    /// Parses the body of a create.
    pub fn parse_new(body: &Value) -> Result<ContainerDefinition, Failure> {
        // First, so that the refusal names the feature instead of a detail of it.
        check_built(body)?;
        let definition = ContainerDefinition::parse(body)?;
        definition.partition_key.check_new()?;
        spatial::check_new_boxes(&definition.indexing.spatial, definition.geospatial)?;
        Ok(definition)
    }

    /// Parses a definition that may be stored already, as [`to_value`](Self::to_value) writes it.
    /// Properties that are not settings are ignored.
    pub fn parse(body: &Value) -> Result<ContainerDefinition, Failure> {
        let fields = DefinitionFields::of_body(body)?;
        let id = fields.text("id")?.ok_or(Failure::MissingProperty("id"))?;
        // The id becomes a segment of paths, so some characters are impossible.
        check_resource_id(id)?;
        let default_ttl = ttl::parse_default(&fields)?;
        // Cosmos DB refuses an unknown language before it refuses an index, and a test of an SDK
        // sends a body with both errors.
        let full_text = FullTextPolicy::parse(&fields)?;
        let definition = ContainerDefinition {
            id: id.to_owned(),
            partition_key: PartitionKeySetting::parse(&fields)?,
            indexing: IndexingPolicy::parse(&fields)?,
            unique_keys: unique_keys::parse(&fields)?,
            conflict: conflict::parse(&fields)?,
            geospatial: geospatial::parse(&fields)?,
            default_ttl,
            ttl_property: ttl::parse_property(&fields, default_ttl)?,
            analytical_ttl: ttl::parse_analytical(&fields)?,
            computed: computed::parse(&fields)?,
            change_feed: ChangeFeedPolicy::parse(&fields)?,
            vector_embeddings: vector::parse_embeddings(&fields)?,
            full_text,
            client_encryption: parse_encryption(&fields)?,
        };
        // The checks across settings need all of them.
        definition.check_agreement()?;
        Ok(definition)
    }

    /// Parses the body of a replace of this container.
    ///
    /// The body may leave out settings that cannot change; some SDKs have no way to send these
    /// settings.
    pub fn replacement(&self, body: &Value) -> Result<ContainerDefinition, Failure> {
        let Value::Object(mut merged) = body.clone() else {
            return ContainerDefinition::parse(body);
        };
        let current = self.to_value();
        for property in KEPT_BY_REPLACE {
            // A null means the same as an absent property.
            let absent = matches!(merged.get(property), None | Some(Value::Null));
            let value = current.get(property);
            if absent && !value.is_undefined() {
                merged.insert(property.to_owned(), value.clone());
            }
        }
        let merged = Value::Object(merged);
        check_built(&merged)?;
        let new = ContainerDefinition::parse(&merged)?;
        self.check_replace(&new)?;
        Ok(new)
    }

    /// Adds a partition key to a body without one, as Cosmos DB does for old versions of the
    /// protocol. Items have no property of this name, so all items are in one logical partition
    /// until a newer client writes the property.
    pub fn add_system_key(body: &mut Value) {
        if let Value::Object(body) = body
            && matches!(body.get("partitionKey"), None | Some(Value::Null))
        {
            body.insert("partitionKey".to_owned(), PartitionKeySetting::system());
        }
    }

    /// Removes this partition key from the output of [`to_value`](Self::to_value), for clients of
    /// those versions.
    pub fn hide_system_key(&self, value: &mut Value) {
        if let Value::Object(properties) = value
            && self.partition_key.is_system_key()
        {
            properties.retain(|name, _| name != "partitionKey");
        }
    }

    /// The partition key without the client's spelling.
    pub fn key(&self) -> &PartitionKeyDefinition {
        self.partition_key.definition()
    }

    /// The resource body without system properties, and with defaults filled in.
    pub fn to_value(&self) -> Value {
        let optional = |number: Option<i64>| number.map_or(Value::Undefined, Value::from);
        object([
            ("id", Value::from(self.id.as_str())),
            ("partitionKey", self.partition_key.to_value()),
            ("indexingPolicy", self.indexing.to_value()),
            ("uniqueKeyPolicy", unique_keys::to_value(&self.unique_keys)),
            (
                "conflictResolutionPolicy",
                conflict::to_value(&self.conflict),
            ),
            ("geospatialConfig", geospatial::to_value(self.geospatial)),
            ("defaultTtl", optional(self.default_ttl.map(i64::from))),
            (
                "ttlPropertyPath",
                self.ttl_property
                    .as_ref()
                    .map_or(Value::Undefined, VerbatimPath::to_value),
            ),
            ("analyticalStorageTtl", optional(self.analytical_ttl)),
            ("computedProperties", computed::to_value(&self.computed)),
            ("changeFeedPolicy", self.change_feed.to_value()),
            (
                "vectorEmbeddingPolicy",
                vector::embeddings_to_value(&self.vector_embeddings),
            ),
            (
                "fullTextPolicy",
                self.full_text
                    .as_ref()
                    .map_or(Value::Undefined, FullTextPolicy::to_value),
            ),
            (
                "clientEncryptionPolicy",
                self.client_encryption.clone().unwrap_or_default(),
            ),
        ])
    }

    /// Checks that `new` may replace these settings.
    pub fn check_replace(&self, new: &ContainerDefinition) -> Result<(), Failure> {
        let unchanged = |same: bool, sentence: &str| {
            if same {
                Ok(())
            } else {
                Err(invalid_input(sentence))
            }
        };
        unchanged(
            self.id == new.id,
            "The id of a container cannot be changed.",
        )?;
        unchanged(
            self.key() == new.key(),
            "The partition key of a container cannot be changed; create another container.",
        )?;
        unchanged(
            self.unique_keys == new.unique_keys,
            "The unique keys of a container cannot be changed; create another container.",
        )?;
        unchanged(
            self.conflict == new.conflict,
            "Updating conflict resolution policy is currently not supported.",
        )?;
        unchanged(
            self.client_encryption == new.client_encryption,
            "The client encryption policy of a container cannot be changed.",
        )?;
        // Only a changed policy is checked, since stored definitions of older versions of Orrery
        // may have boxes.
        if self.indexing.spatial != new.indexing.spatial || self.geospatial != new.geospatial {
            spatial::check_new_boxes(&new.indexing.spatial, new.geospatial)?;
        }
        // Vector indexes and embeddings are compared by path, since either list may be reordered.
        vector::check_replaced_indexes(&self.indexing.vector, &new.indexing.vector)?;
        vector::check_replaced_embeddings(&self.vector_embeddings, &new.vector_embeddings)
    }

    /// Checks that settings of different policies are consistent.
    fn check_agreement(&self) -> Result<(), Failure> {
        ttl::check_mode(self.default_ttl, self.indexing.mode)?;
        spatial::check_boxes(&self.indexing.spatial, self.geospatial)?;
        vector::check_indexes(&self.indexing.vector, &self.vector_embeddings)?;
        full_text::check_indexes(&self.indexing.full_text, self.full_text.as_ref())
    }
}

/// Settings that Cosmos DB acts upon and that Orrery does not have. Ignoring such a setting would
/// mislead the client about its container.
const NOT_BUILT: [(&str, &str); 3] = [
    ("materializedViewDefinition", "Materialized views are"),
    (
        "globalSecondaryIndexDefinition",
        "Global secondary indexes are",
    ),
    ("backupPolicy", "The backup policy of a container is"),
];

fn check_built(body: &Value) -> Result<(), Failure> {
    let is_set = |property: &str| !matches!(body.get(property), Value::Undefined | Value::Null);
    match NOT_BUILT.iter().find(|(property, _)| is_set(property)) {
        None => Ok(()),
        Some((property, subject)) => Err(Failure::NotImplemented(format!(
            "{subject} not built into this version of Orrery: leave '{property}' out. See COMPAT.md."
        ))),
    }
}

fn parse_encryption(body: &DefinitionFields<'_>) -> Result<Option<Value>, Failure> {
    const PROPERTY: &str = "clientEncryptionPolicy";
    let Some(policy) = body.object(PROPERTY)? else {
        return Ok(None);
    };
    match policy.integer("policyFormatVersion")? {
        // Orrery stores the policy unread: only clients encrypt and decrypt.
        None | Some(1 | 2) => Ok(body.get(PROPERTY).cloned()),
        Some(other) => Err(invalid_input(format!(
            "'{}' must be 1 or 2, not {other}.",
            policy.name("policyFormatVersion")
        ))),
    }
}
