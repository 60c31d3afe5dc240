//! Spatial indexes: which shapes are found at a path, and in what box.

use orrery_json::{Number, Value};

use super::fields::{Fields, find_word, list_unless_empty, object, refused, word_of};
use super::geospatial::Geospatial;
use super::index_path::{Ending, IndexPath};
use crate::Failure;

#[derive(Debug, Clone, PartialEq)]
pub struct SpatialIndex {
    pub path: IndexPath,
    pub types: Vec<SpatialType>,
    /// Present when coordinates are of a plane.
    pub bounding_box: Option<BoundingBox>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpatialType {
    Point,
    LineString,
    Polygon,
    MultiPolygon,
}

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

pub(super) fn parse(policy: &Fields<'_>) -> Result<Vec<SpatialIndex>, Failure> {
    policy
        .objects("spatialIndexes")?
        .unwrap_or_default()
        .iter()
        .map(parse_index)
        .collect()
}

/// Coordinates of a plane have no natural bounds, so each index must give them.
pub(super) fn check_boxes(indexes: &[SpatialIndex], geospatial: Geospatial) -> Result<(), Failure> {
    let unbounded = indexes.iter().find(|index| index.bounding_box.is_none());
    match (geospatial, unbounded) {
        (Geospatial::Geometry, Some(index)) => Err(refused(format!(
            "The spatial index at '{}' needs a 'boundingBox', because the container is of type \
             Geometry.",
            index.path.text()
        ))),
        (Geospatial::Geometry, None) | (Geospatial::Geography, _) => Ok(()),
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

fn parse_index(fields: &Fields<'_>) -> Result<SpatialIndex, Failure> {
    let path = IndexPath::parse(fields.required_text("path")?, Ending::Required)?;
    let mut types = Vec::new();
    for text in fields.texts("types")?.unwrap_or_default() {
        types.push(find_word(text, &TYPES).ok_or_else(|| {
            refused(format!(
                "'{}' must name Point, LineString, Polygon or MultiPolygon; '{text}' is none of \
                 them.",
                fields.name("types")
            ))
        })?);
    }
    if types.is_empty() {
        return Err(refused(format!(
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

fn parse_box(fields: &Fields<'_>) -> Result<BoundingBox, Failure> {
    let bounds = BoundingBox {
        x_min: fields.required_number("xmin")?,
        y_min: fields.required_number("ymin")?,
        x_max: fields.required_number("xmax")?,
        y_max: fields.required_number("ymax")?,
    };
    let ordered = bounds.x_min.total_cmp(bounds.x_max).is_lt()
        && bounds.y_min.total_cmp(bounds.y_max).is_lt();
    if ordered {
        Ok(bounds)
    } else {
        Err(refused(
            "A 'boundingBox' must have xmin below xmax and ymin below ymax.",
        ))
    }
}
