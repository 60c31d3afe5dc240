use orrery_keys::{ContainerRid, ItemRid, PermissionRid, UserRid};
use proptest::prelude::*;

use super::*;

fn describe(path: &str) -> String {
    let path = RequestPath::parse(path).unwrap();
    match path.resource() {
        Ok(resource) => format!("{resource:?}"),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn names() {
    let database = "Name(\"d\")";
    let container = r#"Name { database: "d", container: "c" }"#;
    let user = r#"Name { database: "d", user: "u" }"#;
    for (path, expected) in [
        ("/", "Account".to_owned()),
        ("", "Account".to_owned()),
        ("//", "Account".to_owned()),
        ("/_orrery/requests", "RequestLog".to_owned()),
        ("/dbs", "Databases".to_owned()),
        ("/dbs/", "Databases".to_owned()),
        ("//dbs//d//", format!("Database({database})")),
        ("/DBS/d/Colls", format!("Containers({database})")),
        ("/dbs/d/colls/c", format!("Container({container})")),
        ("/dbs/d/colls/c/docs/", format!("Items({container})")),
        (
            "/dbs/d/colls/c/docs/a%20+%2520%2F",
            format!("Item(Name {{ container: {container}, id: \"a +%20/\" }})"),
        ),
        (
            "/dbs/d/colls/c/pkranges",
            format!("PartitionKeyRanges({container})"),
        ),
        (
            "/dbs/d/colls/c/pkranges/0",
            format!("PartitionKeyRange({container}, \"0\")"),
        ),
        (
            "/dbs/d/colls/c/operations/partitionkeydelete",
            format!("PartitionKeyDelete({container})"),
        ),
        (
            "/dbs/d/colls/c/sprocs",
            format!("Scripts({container}, StoredProcedure)"),
        ),
        (
            "/dbs/d/colls/c/udfs/f",
            format!("Script({container}, Function, \"f\")"),
        ),
        (
            "/dbs/d/colls/c/triggers",
            format!("Scripts({container}, Trigger)"),
        ),
        (
            "/dbs/d/colls/c/conflicts",
            format!("Conflicts({container})"),
        ),
        ("/dbs/d/users", format!("Users({database})")),
        ("/dbs/d/users/u", format!("User({user})")),
        ("/dbs/d/users/u/permissions", format!("Permissions({user})")),
        (
            "/dbs/d/users/u/permissions/p",
            format!("Permission(Name {{ user: {user}, permission: \"p\" }})"),
        ),
        (
            "/dbs/d/clientencryptionkeys",
            format!("ClientEncryptionKeys({database})"),
        ),
        (
            "/dbs/d/clientencryptionkeys/k",
            format!("ClientEncryptionKey({database}, \"k\")"),
        ),
        (
            "/dbs/colls/colls/docs",
            r#"Container(Name { database: "colls", container: "docs" })"#.to_owned(),
        ),
        (
            "/_orrery/dbs/d/colls/c/partitions",
            format!("Partitions({container})"),
        ),
        (
            "/_orrery/dbs/d/colls/c/throughput/",
            format!("Distribution({container})"),
        ),
        ("/metrics", "Metrics".to_owned()),
        ("/offers", "Offers".to_owned()),
        ("/addresses/", "Addresses".to_owned()),
        ("/operations/dtc", "DistributedTransaction".to_owned()),
    ] {
        assert_eq!(describe(path), expected, "{path}");
    }
}

#[test]
fn resource_ids() {
    let database = DatabaseRid::new(7);
    let other = DatabaseRid::new(8);
    let container = ContainerRid::new(database, 3);
    let item = ItemRid::new(container, 9);
    let user = UserRid::new(database, 2);
    let permission = PermissionRid::new(user, 4);
    let offer = OfferRid::new(5);
    for (path, expected) in [
        (
            format!("/dbs/{database}"),
            format!("Database(Rid({database:?}))"),
        ),
        (
            format!("/dbs/{database}/colls/{container}/"),
            format!("Container(Rid({container:?}))"),
        ),
        (
            format!("/dbs/{database}/colls/{container}/docs/{item}"),
            format!("Item(Rid({item:?}))"),
        ),
        (
            format!("/dbs/{database}/users/{user}/permissions/{permission}"),
            format!("Permission(Rid({permission:?}))"),
        ),
        (format!("/offers/{offer}"), format!("Offer({offer:?})")),
        (
            format!("/dbs/{other}/colls/{container}"),
            "not found".to_owned(),
        ),
        (
            format!("/dbs/{database}/colls/c"),
            "Failed to parse the value 'c' as ResourceId".to_owned(),
        ),
        (
            format!("/dbs/{database}/colls/{user}"),
            format!("Failed to parse the value '{user}' as ResourceId"),
        ),
        (
            "/offers/not-one".to_owned(),
            "Failed to parse the value 'not-one' as ResourceId".to_owned(),
        ),
    ] {
        let path = path.replace('=', "%3D");
        assert_eq!(describe(&path), expected, "{path}");
    }
}

#[test]
fn what_names_nothing_is_refused() {
    for path in [
        "/x",
        "/dbs/d/docs",
        "/dbs/d/colls/c/x",
        "/dbs/d/colls/c/udfs/f/x",
        "/dbs/d/users/u/docs",
        "/dbs/d/colls/c/operations/other",
        "/offers/a/b",
        "/operations/x",
    ] {
        assert_eq!(describe(path), "Server could not parse the Url.", "{path}");
    }
    for path in ["/a/b/c/d/e/f/g/h/i", "/dbs/%", "/dbs/%ff"] {
        assert!(RequestPath::parse(path).is_err(), "{path}");
    }
}

proptest! {
    #[test]
    fn any_path_is_answered(path in "(/|dbs|colls|docs|users|%|2F|[a-z=])*") {
        if let Ok(path) = RequestPath::parse(&path) {
            let _ = path.resource();
            let _ = path.signing_target();
        }
    }

    #[test]
    fn any_text_is_answered(path in ".*") {
        if let Ok(path) = RequestPath::parse(&path) {
            let _ = path.resource();
            let _ = path.signing_target();
        }
    }
}

#[test]
fn ids_of_items_keep_question_marks_and_slashes() {
    for (url, expected) in [
        ("/dbs/d/colls/c/docs/a?b", Some("a?b")),
        ("/dbs/d/colls/c/docs/?", None),
        ("/dbs/d/colls/c/docs/a%3F?%20/b", Some("a?? /b")),
        ("/dbs/d/colls/c/docs/a/b/c/d/e", Some("a/b/c/d/e")),
        ("/dbs/d/colls/c?x=y", None),
    ] {
        let uri: Uri = url.parse().unwrap();
        let path = RequestPath::of_uri(&uri).unwrap();
        let id = match path.resource().unwrap() {
            Resource::Item(ItemAddress::Name { id, .. }) => Some(id.to_owned()),
            _ => None,
        };
        assert_eq!(id.as_deref(), expected, "{url}");
    }
}
