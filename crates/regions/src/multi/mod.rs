//! Accounts in which every region writes: a stream for each region, delivered where what it depends
//! on has been delivered, and conflicts resolved alike everywhere.

mod delivery;
mod mesh;
mod siblings;
mod stability;
mod unique;

pub use mesh::{Mesh, MeshEffect, MeshMessage, MeshSettings};
pub use siblings::{Change, Merged, Resolution, Siblings, Stamp, Version};
pub use unique::clashes;
