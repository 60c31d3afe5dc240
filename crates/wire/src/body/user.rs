//! Users, which own permissions.

use orrery_keys::UserRid;
use orrery_model::User;

use super::ObjectWriter;

/// The link of a user by resource ids.
pub(super) fn user_self_link(rid: UserRid) -> String {
    format!("dbs/{}/users/{rid}/", rid.database())
}

/// The body of a user.
pub fn user_body(user: &User) -> Vec<u8> {
    ObjectWriter::new()
        .text("id", &user.id)
        .display("_rid", user.rid)
        .text("_self", &user_self_link(user.rid))
        .text("_etag", user.etag.as_str())
        .text("_permissions", "permissions/")
        .literal("_ts", user.modified_seconds)
        .finish()
}

#[cfg(test)]
mod tests {
    use orrery_keys::DatabaseRid;
    use orrery_model::Etag;

    use super::*;

    #[test]
    fn user_bodies() {
        let database = DatabaseRid::new(1);
        let rid = UserRid::new(database, 2);
        let etag = Etag::of_write(0, 1, 0, 2);
        let user = User {
            rid,
            id: "u".to_owned(),
            etag,
            modified_seconds: 5,
        };
        let expected = format!(
            r#"{{"id":"u","_rid":"{rid}","_self":"dbs/{database}/users/{rid}/","_etag":"\"00000000-0001-0000-0000-000000020000\"","_permissions":"permissions/","_ts":5}}"#
        );
        assert_eq!(String::from_utf8(user_body(&user)).unwrap(), expected);
    }
}
