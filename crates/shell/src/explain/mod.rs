//! How a server says it found the rows of a page: the header only Orrery sends, and its text for people.

mod plan;
mod text;

pub use plan::Plan;
pub use text::page_text;
