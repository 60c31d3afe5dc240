//! Database bodies, and request bodies of which only the id matters.

use orrery_keys::DatabaseRid;
use orrery_model::{Database, Failure, check_resource_id};

use super::{ObjectWriter, parse_body};

/// The link of a database by its resource id.
pub fn database_self_link(rid: DatabaseRid) -> String {
    format!("dbs/{rid}/")
}

/// The body of a database.
pub fn database_body(database: &Database) -> Vec<u8> {
    ObjectWriter::new()
        .text("id", &database.id)
        .display("_rid", database.rid)
        .text("_self", &database_self_link(database.rid))
        .text("_etag", database.etag.as_str())
        .text("_colls", "colls/")
        .text("_users", "users/")
        .literal("_ts", database.modified_seconds)
        .finish()
}

/// Parses the body that creates a database or a user, or renames a user.
pub fn parse_id_body(body: &[u8]) -> Result<String, Failure> {
    id_of(&parse_body(body)?).map(str::to_owned)
}

/// The id of a named resource.
pub(crate) fn id_of(body: &orrery_json::Value) -> Result<&str, Failure> {
    let id = body.get("id");
    if id.is_undefined() {
        return Err(Failure::MissingProperty("id"));
    }
    // A number or null as an id is refused instead of converted.
    let id = id.as_str().ok_or_else(|| {
        Failure::BadRequest(format!(
            "One of the input values is invalid. 'id' must be a string, but its type is {}.",
            id.type_name()
        ))
    })?;
    check_resource_id(id)?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use orrery_model::Etag;

    use super::*;

    #[test]
    fn database_bodies() {
        let rid = DatabaseRid::new(1);
        let database = Database {
            rid,
            id: "d".to_owned(),
            etag: Etag::of_write(0, 1, 0, 2),
            modified_seconds: 5,
            offer: None,
        };
        let expected = format!(
            r#"{{"id":"d","_rid":"{rid}","_self":"dbs/{rid}/","_etag":"\"00000000-0001-0000-0000-000000020000\"","_colls":"colls/","_users":"users/","_ts":5}}"#
        );
        assert_eq!(
            String::from_utf8(database_body(&database)).unwrap(),
            expected
        );
    }

    #[test]
    fn ids_are_checked() {
        assert_eq!(parse_id_body(br#"{"id":"d","x":1}"#), Ok("d".to_owned()));
        assert_eq!(parse_id_body(b"{}"), Err(Failure::MissingProperty("id")));
        for body in [
            "",
            "[",
            r#"{"id":1}"#,
            r#"{"id":""}"#,
            r#"{"id":"a/b"}"#,
            r#"{"id":"a "}"#,
        ] {
            assert!(
                matches!(parse_id_body(body.as_bytes()), Err(Failure::BadRequest(_))),
                "{body}"
            );
        }
    }
}
