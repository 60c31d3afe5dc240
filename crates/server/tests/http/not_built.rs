//! Features that this version does not have are refused by name. The status is 400 because some
//! SDKs repeat requests that fail with 5xx.

use crate::signature::{encoded, sign};
use crate::support::{Credential, ITEMS, PK, PRIMARY, start};

const KEY: (&str, &str) = (PK, r#"["p"]"#);

#[test]
fn each_answer_names_what_is_missing() {
    let world = start();
    let client = world.client();
    for (method, path, headers, body, name) in [
        (
            "GET",
            "/dbs/d/clientencryptionkeys",
            &[][..],
            "",
            "Client encryption keys",
        ),
        (
            "GET",
            "/dbs/d/clientencryptionkeys/k",
            &[],
            "",
            "Client encryption keys",
        ),
        (
            "PUT",
            "/dbs/d",
            &[],
            r#"{"id":"d"}"#,
            "Replacing a database",
        ),
        (
            "GET",
            "/dbs/d/colls/c/docs/x/attachments",
            &[KEY],
            "",
            "ttachments",
        ),
    ] {
        let response = client.request(method, path, headers, body);
        println!("{method} {path}");
        response.refused(400, 0, "NotImplemented", name);
    }
    let response = client.query(ITEMS, "SELECT VALUE VectorDistance(c.v, [1]) FROM c");
    response.refused(400, 0, "NotImplemented", "VectorDistance");
}

/// A client in direct mode signs the container whose replicas it looks for.
#[test]
fn a_client_in_direct_mode_hears_what_to_do() {
    let world = start();
    let database = world.client().get("/dbs/d").json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let container = world.client().get("/dbs/d/colls/c").json()["_rid"]
        .as_str()
        .unwrap()
        .to_owned();
    let nobody = world.client_with(Credential::Nothing);
    let date = world.client().date();
    for (resolve, link) in [
        (
            "dbs%2fd%2fcolls%2fc%2fdocs".to_owned(),
            "dbs/d/colls/c".to_owned(),
        ),
        (
            format!("dbs%2f{database}%2fcolls%2f{container}%2fdocs"),
            container.to_lowercase(),
        ),
    ] {
        let payload = format!("get\ndocs\n{link}\n{}\n\n", date.to_lowercase());
        let signature = encoded(&sign(PRIMARY, &payload));
        let headers = [("authorization", signature.as_str()), ("x-ms-date", &date)];
        let path = format!(
            "//addresses/?$resolveFor={resolve}&$filter=protocol%20eq%20rntbd&$partitionKeyRangeIds=0"
        );
        let response = nobody.request("GET", &path, &headers, "");
        response.refused(400, 0, "NotImplemented", "gateway mode");
    }
}
