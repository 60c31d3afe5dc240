//! Shapes on the earth: `GeoJSON` points, lines, polygons and collections of polygons.
//!
//! Positions lie on the WGS 84 ellipsoid. Distances and areas are measured on the ellipsoid;
//! contacts between shapes are decided on the sphere, with great circles as edges. `geojson` parses
//! shapes, `sphere` has the vectors, `plane` projects two shapes so that great circles become
//! straight lines, `relation` compares the projections, `measure` computes distances and areas.

mod functions;
mod geojson;
mod measure;
mod plane;
mod relation;
mod sphere;

pub(super) use functions::FUNCTIONS;
