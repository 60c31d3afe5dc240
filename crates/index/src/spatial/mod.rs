//! Spatial indexes: geometries as cells of a quadtree.
//!
//! A point has one entry, for the last-level cell that contains it. Any other geometry has entries
//! for up to eight cells of any level that together cover its bounding box. A query computes the
//! cells of its own geometry in the same way, and then reads the entries of these cells, of their
//! descendants and of their ancestors. So the index finds every geometry that touches the query's
//! geometry, and also false positives, which the query removes by evaluating the spatial function.
//!
//! Bounding boxes follow the spatial functions: edges are great circles, a clockwise polygon is the
//! complement of its interior, and distances are on the ellipsoid. A geometry without a usable box,
//! such as a polygon across the date line, counts as covering the whole globe.

mod bounds;
mod cell;
mod geojson;
mod grid;
mod simple;
#[cfg(test)]
mod tests;

pub use grid::Grid;
