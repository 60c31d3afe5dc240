//! Shapes on the earth: `GeoJSON` points, lines, polygons and collections of polygons.
//!
//! Longitudes and latitudes are on the WGS 84 ellipsoid. Distances and areas are measured on it;
//! whether shapes touch is decided on the sphere, with great circles as the edges. `geojson` reads
//! shapes, `sphere` has the vectors, `plane` lays two shapes flat so that great circles are
//! straight, `relation` compares them there, `measure` has distances and areas.

mod functions;
mod geojson;
mod measure;
mod plane;
mod relation;
mod sphere;

pub(super) use functions::FUNCTIONS;
