//! Spatial indexes: geometries as cells of a square that is cut in four, again and again.
//!
//! A point is the one cell of the last cut that has it. Any other geometry is up to eight cells,
//! large or small, that together have its bounding box. A query does the same with its own
//! geometry and then asks for the cells within its cells and for those around them. So geometries
//! that touch always meet, and others may; who asks tests them again.
//!
//! Bounding boxes are those of the functions that test: edges are great circles, a polygon written
//! clockwise is the rest of the earth, and a distance is one on the ellipsoid. What a box cannot
//! say, such as a polygon over the date line, is taken to be everywhere.

mod bounds;
mod cell;
mod geojson;
mod grid;
mod simple;
#[cfg(test)]
mod tests;

pub use grid::Grid;
