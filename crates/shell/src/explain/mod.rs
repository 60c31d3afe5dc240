//! The explanation of a page by the server: the header that only Orrery sends, and its text for
//! people.

mod plan;
mod text;

pub use plan::Plan;
pub use text::page_text;
