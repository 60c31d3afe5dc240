//! Functions of whole items.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use orrery_json::Value;

use super::{Argument, Arity, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    // The function is undefined for a value that is not an item.
    Function::new("DOCUMENTID", Arity::Exactly(1), document_id),
];

/// The counter of the item in its partition: the second half of its resource id.
fn document_id(arguments: &[Argument<'_>]) -> Option<Value> {
    let resource_id = arguments.first()?.get("_rid").as_str()?.replace('-', "/");
    let bytes: [u8; 16] = STANDARD.decode(resource_id).ok()?.try_into().ok()?;
    let (_, number) = bytes.split_last_chunk::<8>()?;
    i64::try_from(u64::from_le_bytes(*number))
        .ok()
        .map(Value::from)
}
