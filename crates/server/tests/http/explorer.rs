//! The files of the explorer: every client may read them, browsers may cache them, and they may
//! load nothing from other origins.

use orrery_model::{AccountKeyRole, AccountKeys, Secret, WELL_KNOWN_KEY};

use crate::support::{Client, Credential, Response, World, start};

fn browser(world: &World) -> Client {
    world.client_with(Credential::Nothing)
}

/// Files have a status and no charge.
#[track_caller]
fn file(response: Response, status: u16) -> Response {
    assert_eq!(response.status, status, "{}", response.text());
    assert_eq!(response.header("x-ms-request-charge"), None);
    response
}

/// The script that the page begins with.
fn script_of(page: &str) -> String {
    let (_, rest) = page.split_once("src=\"./").expect("a script");
    let (name, _) = rest.split_once('"').unwrap();
    format!("/_explorer/{name}")
}

#[test]
fn the_page_needs_no_key_and_reaches_nobody_else() {
    let world = start();
    let page = file(browser(&world).get("/_explorer/"), 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    let scripts = policy.split(';').find(|part| part.contains("script-src"));
    assert_eq!(
        scripts.map(str::trim),
        Some("script-src 'self'"),
        "{policy}"
    );
    let text = page.text();
    assert!(!text.contains("=\"/"), "links must be relative: {text}");
    assert!(!text.contains("://"), "{text}");
}

#[test]
fn the_page_of_operators_is_elsewhere() {
    let world = start();
    file(browser(&world).get("/_explorer/regions.html"), 404);
}

#[test]
fn hashed_files_are_kept_for_good_and_come_compressed() {
    let world = start();
    let client = browser(&world);
    let path = script_of(&client.get("/_explorer/").text());
    let plain = file(client.get(&path), 200);
    assert_eq!(
        plain.header("content-type"),
        Some("text/javascript; charset=utf-8")
    );
    assert!(plain.header("cache-control").unwrap().contains("immutable"));
    assert_eq!(plain.header("content-encoding"), None);
    let mut tags = vec![plain.header("etag").unwrap().to_owned()];
    for encoding in ["br", "gzip"] {
        let accepted = [("accept-encoding", encoding)];
        let packed = file(client.request("GET", &path, &accepted, ""), 200);
        assert_eq!(packed.header("content-encoding"), Some(encoding));
        assert_eq!(packed.header("vary"), Some("accept-encoding"));
        assert!(packed.body.len() * 2 < plain.body.len(), "{encoding}");
        tags.push(packed.header("etag").unwrap().to_owned());
    }
    tags.dedup();
    assert_eq!(tags.len(), 3, "each form has a tag of its own: {tags:?}");
    let known = [("if-none-match", tags[0].as_str())];
    let unchanged = file(client.request("GET", &path, &known, ""), 304);
    assert!(unchanged.body.is_empty());
}

#[test]
fn people_find_it_and_programs_are_left_alone() {
    let world = start();
    let client = browser(&world);
    let html = [("accept", "text/html,application/xhtml+xml")];
    for path in ["/", "/_explorer"] {
        let moved = file(client.request("GET", path, &html, ""), 307);
        assert_eq!(moved.header("location"), Some("_explorer/"), "{path}");
    }
    world.client().request("GET", "/", &html, "").expect(200);
    client.get("/").expect(401);
    file(client.get("/_explorer/nothing.js"), 404);
    file(client.get("/_explorer/../Cargo.toml"), 404);
    client.post("/_explorer/", "{}").expect(400);
    file(client.get("/_explorer/emulator.pem"), 404);
}

#[test]
fn only_the_well_known_key_is_offered() {
    let world = start();
    let client = browser(&world);
    let config = || file(client.get("/_explorer/config.json"), 200).json();
    assert_eq!(config()["key"], serde_json::Value::Null);
    assert_eq!(config()["version"], env!("CARGO_PKG_VERSION"));
    let known = base64_decode(WELL_KNOWN_KEY);
    for (role, expected) in [
        (AccountKeyRole::ReadOnly, serde_json::Value::Null),
        (AccountKeyRole::ReadWrite, WELL_KNOWN_KEY.into()),
    ] {
        world.handle.set_keys(&AccountKeys {
            keys: vec![(Secret::new(known.clone()), role)],
        });
        assert_eq!(config()["key"], expected, "{role:?}");
    }
}

fn base64_decode(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap()
}
