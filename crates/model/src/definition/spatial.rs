//! Spatial indexes: the shapes that an index finds at a path, and the bounding box of the index.

use orrery_json::{Number, Value};

use super::fields::{
    DefinitionFields, find_word, invalid_input, list_unless_empty, object, word_of,
};
use super::geospatial::Geospatial;
use super::index_path::{Ending, IndexPath};
use crate::Failure;

/// A spatial index at one path.
#[derive(Debug, Clone, PartialEq)]
pub struct SpatialIndex {
    pub path: IndexPath,
    pub types: Vec<SpatialType>,
    /// The bounding box. Present for coordinates in a plane.
    pub bounding_box: Option<BoundingBox>,
}

/// A shape of `GeoJSON` that an index can find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpatialType {
    Point,
    LineString,
    Polygon,
    MultiPolygon,
}

/// The rectangle that an index covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundingBox {
    pub x_min: Number,
    pub y_min: Number,
    pub x_max: Number,
    pub y_max: Number,
}

const TYPES: [(&str, SpatialType); 4] = [
    ("Point", SpatialType::Point),
    ("LineString", SpatialType::LineString),
    ("Polygon", SpatialType::Polygon),
    ("MultiPolygon", SpatialType::MultiPolygon),
];

pub(super) fn parse(policy: &DefinitionFields<'_>) -> Result<Vec<SpatialIndex>, Failure> {
    policy
        .objects("spatialIndexes")?
        .unwrap_or_default()
        .iter()
        .map(parse_index)
        .collect()
}

/// Checks that every index has a bounding box if coordinates are in a plane, which has no natural
/// bounds.
pub(super) fn check_boxes(indexes: &[SpatialIndex], geospatial: Geospatial) -> Result<(), Failure> {
    let unbounded = indexes.iter().find(|index| index.bounding_box.is_none());
    match (geospatial, unbounded) {
        (Geospatial::Geometry, Some(index)) => Err(invalid_input(format!(
            "The spatial index at '{}' needs a 'boundingBox', because the container is of type \
             Geometry.",
            index.path.text()
        ))),
        (Geospatial::Geometry, None) | (Geospatial::Geography, _) => Ok(()),
    }
}

/// Refuses a bounding box where coordinates are on the globe, which has bounds of its own.
/// Containers that older versions of Orrery created may have such boxes.
pub(super) fn check_new_boxes(
    indexes: &[SpatialIndex],
    geospatial: Geospatial,
) -> Result<(), Failure> {
    let bounded = indexes.iter().find(|index| index.bounding_box.is_some());
    match (geospatial, bounded) {
        (Geospatial::Geography, Some(index)) => Err(invalid_input(format!(
            "The spatial index at '{}' has a 'boundingBox', and the container is of type Geography. Leave \
             the box out, or set 'geospatialConfig.type' to Geometry.",
            index.path.text()
        ))),
        (Geospatial::Geography, None) | (Geospatial::Geometry, _) => Ok(()),
    }
}

pub(super) fn to_value(indexes: &[SpatialIndex]) -> Value {
    list_unless_empty(indexes.iter().map(|index| {
        let types = index
            .types
            .iter()
            .map(|kind| word_of(kind, &TYPES))
            .collect();
        let bounding_box = index.bounding_box.map_or(Value::Undefined, |bounds| {
            object([
                ("xmin", Value::from(bounds.x_min)),
                ("ymin", Value::from(bounds.y_min)),
                ("xmax", Value::from(bounds.x_max)),
                ("ymax", Value::from(bounds.y_max)),
            ])
        });
        object([
            ("path", index.path.to_value()),
            ("types", Value::Array(types)),
            ("boundingBox", bounding_box),
        ])
    }))
}

fn parse_index(fields: &DefinitionFields<'_>) -> Result<SpatialIndex, Failure> {
    let path = IndexPath::parse(fields.required_text("path")?, Ending::Required)?;
    let mut types = Vec::new();
    for text in fields.texts("types")?.unwrap_or_default() {
        types.push(find_word(text, &TYPES).ok_or_else(|| {
            invalid_input(format!(
                "'{}' must name Point, LineString, Polygon or MultiPolygon; '{text}' is none of \
                 them.",
                fields.name("types")
            ))
        })?);
    }
    if types.is_empty() {
        return Err(invalid_input(format!(
            "'{}' is empty. Name at least one of Point, LineString, Polygon and MultiPolygon.",
            fields.name("types")
        )));
    }
    let bounding_box = fields
        .object("boundingBox")?
        .map(|bounds| parse_box(&bounds))
        .transpose()?;
    Ok(SpatialIndex {
        path,
        types,
        bounding_box,
    })
}

/// Parses a bounding box with four required sides.
fn parse_box(fields: &DefinitionFields<'_>) -> Result<BoundingBox, Failure> {
    let bounds = BoundingBox {
        x_min: fields.required_number("xmin")?,
        y_min: fields.required_number("ymin")?,
        x_max: fields.required_number("xmax")?,
        y_max: fields.required_number("ymax")?,
    };
    // An empty box could not contain any shape.
    let ordered = bounds.x_min.total_cmp(bounds.x_max).is_lt()
        && bounds.y_min.total_cmp(bounds.y_max).is_lt();
    if ordered {
        Ok(bounds)
    } else {
        Err(invalid_input(
            "A 'boundingBox' must have xmin below xmax and ymin below ymax.",
        ))
    }
}
