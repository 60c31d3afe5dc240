//! All settings of a container together, and which of them a replace may change.

use orrery_json::Value;
use orrery_keys::KeyDefinition;

use super::computed::{self, ComputedProperty};
use super::conflict::{self, ConflictPolicy};
use super::fields::{Fields, object, refused};
use super::full_text::{self, FullTextPolicy};
use super::geospatial::{self, Geospatial};
use super::indexing::IndexingPolicy;
use super::partition_key::PartitionKeySetting;
use super::unique_keys::{self, UniqueKey};
use super::vector::{self, VectorEmbedding};
use super::written_path::WrittenPath;
use super::{change_feed, spatial, ttl};
use crate::{Failure, check_resource_id};

/// What a client may say of a container. The settings agree with each other.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerDefinition {
    pub id: String,
    pub partition_key: PartitionKeySetting,
    pub indexing: IndexingPolicy,
    pub unique_keys: Vec<UniqueKey>,
    pub conflict: ConflictPolicy,
    pub geospatial: Geospatial,
    /// Seconds; -1 turns expiry on without a default.
    pub default_ttl: Option<i32>,
    /// Seconds since the epoch at this path count in place of `_ts`, for containers of old.
    pub ttl_property: Option<WrittenPath>,
    pub analytical_ttl: Option<i64>,
    pub computed: Vec<ComputedProperty>,
    pub change_feed_retention_minutes: Option<i64>,
    pub vector_embeddings: Vec<VectorEmbedding>,
    pub full_text: Option<FullTextPolicy>,
    /// Only clients read it.
    pub client_encryption: Option<Value>,
}

/// Settings that a replace keeps when it does not mention them; all others it resets.
const KEPT: [&str; 5] = [
    "partitionKey",
    "uniqueKeyPolicy",
    "conflictResolutionPolicy",
    "geospatialConfig",
    "clientEncryptionPolicy",
];

impl ContainerDefinition {
    /// Reads the body of a create or a replace; properties that are not settings are ignored.
    pub fn parse(body: &Value) -> Result<ContainerDefinition, Failure> {
        let fields = Fields::of_body(body)?;
        let id = fields.text("id")?.ok_or(Failure::MissingProperty("id"))?;
        check_resource_id(id)?;
        let default_ttl = ttl::parse_default(&fields)?;
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
            change_feed_retention_minutes: change_feed::parse(&fields)?,
            vector_embeddings: vector::parse_embeddings(&fields)?,
            full_text: FullTextPolicy::parse(&fields)?,
            client_encryption: parse_encryption(&fields)?,
        };
        definition.check_agreement()?;
        Ok(definition)
    }

    /// Reads the body of a replace of this container.
    ///
    /// What cannot change may be left out, and some clients have no way to send it.
    pub fn replacement(&self, body: &Value) -> Result<ContainerDefinition, Failure> {
        let Value::Object(mut merged) = body.clone() else {
            return ContainerDefinition::parse(body);
        };
        let current = self.to_value();
        for property in KEPT {
            let absent = matches!(merged.get(property), None | Some(Value::Null));
            let value = current.get(property);
            if absent && !value.is_undefined() {
                merged.insert(property.to_owned(), value.clone());
            }
        }
        let new = ContainerDefinition::parse(&Value::Object(merged))?;
        self.check_replace(&new)?;
        Ok(new)
    }

    pub fn key(&self) -> &KeyDefinition {
        self.partition_key.definition()
    }

    /// The resource body without system properties, with defaults filled in.
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
                    .map_or(Value::Undefined, WrittenPath::to_value),
            ),
            ("analyticalStorageTtl", optional(self.analytical_ttl)),
            ("computedProperties", computed::to_value(&self.computed)),
            (
                "changeFeedPolicy",
                change_feed::to_value(self.change_feed_retention_minutes),
            ),
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

    /// Whether `new` may take the place of these settings.
    pub fn check_replace(&self, new: &ContainerDefinition) -> Result<(), Failure> {
        let unchanged =
            |same: bool, sentence: &str| if same { Ok(()) } else { Err(refused(sentence)) };
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
        vector::check_replace(&self.vector_embeddings, &new.vector_embeddings)
    }

    fn check_agreement(&self) -> Result<(), Failure> {
        ttl::check_mode(self.default_ttl, self.indexing.mode)?;
        spatial::check_boxes(&self.indexing.spatial, self.geospatial)?;
        vector::check_indexes(&self.indexing.vector, &self.vector_embeddings)?;
        full_text::check_indexes(&self.indexing.full_text, self.full_text.as_ref())
    }
}

fn parse_encryption(body: &Fields<'_>) -> Result<Option<Value>, Failure> {
    const PROPERTY: &str = "clientEncryptionPolicy";
    let Some(policy) = body.object(PROPERTY)? else {
        return Ok(None);
    };
    match policy.integer("policyFormatVersion")? {
        None | Some(1 | 2) => Ok(body.get(PROPERTY).cloned()),
        Some(other) => Err(refused(format!(
            "'{}' must be 1 or 2, not {other}.",
            policy.name("policyFormatVersion")
        ))),
    }
}
