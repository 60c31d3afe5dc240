//! Accounts in which every region writes: a stream for each region, delivered where what it depends
//! on has been delivered, and conflicts resolved alike everywhere.

mod delivery;
mod mesh;
mod mesh_message;
mod siblings;
mod stability;
mod stream_end;
mod unique;

pub use mesh::Mesh;
pub use mesh_message::{MeshEffect, MeshMessage, MeshSettings};
pub use siblings::{Change, Merged, Resolution, Siblings, Stamp, Version};
pub use stream_end::StreamEnd;
pub use unique::clashes;
