//! Whether coordinates are positions on the globe or in a plane.

use orrery_json::Value;

use super::fields::{DefinitionFields, object, word_of};
use crate::Failure;

/// The meaning of coordinates in a container. Distances depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Geospatial {
    #[default]
    Geography,
    Geometry,
}

const TYPES: [(&str, Geospatial); 2] = [
    ("Geography", Geospatial::Geography),
    ("Geometry", Geospatial::Geometry),
];

pub(super) fn parse(body: &DefinitionFields<'_>) -> Result<Geospatial, Failure> {
    let Some(config) = body.object("geospatialConfig")? else {
        return Ok(Geospatial::default());
    };
    Ok(config.choice("type", &TYPES)?.unwrap_or_default())
}

pub(super) fn to_value(geospatial: Geospatial) -> Value {
    object([("type", word_of(&geospatial, &TYPES))])
}
