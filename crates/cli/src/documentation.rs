//! docs/configuration.md, made from the definitions of the flags.
//!
//! `UPDATE=1 cargo test -p orrery documentation` writes it anew.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Args};

use crate::args::ServeArguments;
use crate::listen::Listen;
use crate::on_off::OnOff;
use crate::settings::Settings;
use crate::size::Size;

const INTRODUCTION: &str = "\
# Configuration

<!-- Made from crates/cli/src/layer.rs; write it anew with `UPDATE=1 cargo test -p orrery documentation`. -->

`orrery serve` works without any configuration. Each setting below can be a flag, an environment
variable, or a key of the TOML file that `--config` names. If several of them set a value, the flag wins, then the
environment, then the file, then the default. An empty environment variable counts as absent.

| Flag | Environment variable | File key | Default | Meaning |
|---|---|---|---|---|
";

const REMARKS: &str = "
Sizes are whole numbers with an optional unit: `KB`, `MB`, `GB` are powers of 1000, `KiB`, `MiB`, `GiB`
of 1024. `--listen` also takes `localhost:PORT`, `[::1]:PORT` or just a port. Paths are relative to the
working directory.

`--data` and `--memory` exclude each other, and so do the keys and `--key-file`: the strongest source that
names one of the two decides. The server stores its self-signed certificate in the data directory as
`certificate.pem` and `certificate-key.pem`. The certificate serves TLS, signs no other certificates and is valid
for less than 825 days. The server makes a new one 30 days before the old one expires, and when the names of the
machine or the addresses of its regions change; the log reports it, and clients must trust the new certificate.
The server reads the files of `--tls CERT,KEY` again within a minute of a change.

With the emulator's public key the server listens on loopback addresses only. Other addresses need new keys:
`--key-file FILE` names a file that the server writes with new keys if it is missing. In a container that only its
host reaches, `ORRERY_ALLOW_WELL_KNOWN_KEY=true` permits the emulator's key. Keys have 32 bytes or more
(`openssl rand -base64 64` makes one). A flag with a key is visible in the list of processes: use the file or the
environment.

On Unix the server refuses a file with secrets (keys, the operators' key, private keys of certificates, a
configuration file with keys) if other users than the owner may write it, and logs a warning if everybody may read
it. On Windows set the access lists yourself.

A key file has one key on each line:

```toml
primary = \"...\"
secondary = \"...\"
primary-read-only = \"...\"
secondary-read-only = \"...\"
```

The server reads the key file again within a second of a change. For a file with an error it logs the error and retains
the old keys.

The names of `--allowed-host` are a list in a file (`allowed-hosts = [\"db.example\"]`), and one text with commas in the
environment.

Regions in a file are strings or tables, in the environment one string with semicolons between regions
([regions.md](regions.md) describes regions):

```toml
regions = [\"West US\", { name = \"North Europe\", listen = \"0.0.0.0:8082\" }]
```

A configuration file, for example:

```toml
listen = \"0.0.0.0:8081\"
advertise = \"https://db.example:8081/\"
data = \"/var/lib/orrery\"
key-file = \"/etc/orrery/keys.toml\"
durability = \"sync\"
cache = \"1GiB\"
```

`NO_COLOR` disables the colours of help and logs.
";

#[test]
fn the_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let expected = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path)
        .unwrap_or_default()
        .replace("\r\n", "\n");
    assert!(
        found == expected,
        "docs/configuration.md is stale: run `UPDATE=1 cargo test -p orrery documentation`"
    );
}

/// The help texts state the defaults, and the resolver of settings applies them; both must agree.
#[test]
fn the_stated_defaults_are_the_defaults() {
    let arguments = ServeArguments {
        accept_loss: false,
        config: None,
        layer: crate::layer::Layer::default(),
    };
    let settings = Settings::load(arguments, &|_| None).unwrap();
    let data = settings
        .data_location
        .directory()
        .unwrap()
        .display()
        .to_string();
    for (flag, value) in [
        ("listen", settings.listen.to_string()),
        ("tls", settings.tls.to_string()),
        ("data", data),
        ("durability", settings.durability.to_string()),
        ("consistency", settings.consistency.name().to_owned()),
        ("log", settings.log),
        ("direct", OnOff::On.to_string()),
        ("service-managed-failover", OnOff::On.to_string()),
        ("management", Listen::any_port().to_string()),
        (
            "partition-size",
            Size(settings.partitions.bytes).to_string(),
        ),
        (
            "partition-throughput",
            settings.partitions.throughput.to_string(),
        ),
        (
            "logical-partition-size",
            Size(settings.partitions.logical_bytes).to_string(),
        ),
        (
            "scrub",
            Size(settings.maintenance.scrub_bytes_per_second).to_string(),
        ),
        ("script-threads", settings.scripts.threads.to_string()),
        ("script-time", settings.scripts.time_ms.to_string()),
        ("script-steps", settings.scripts.steps.to_string()),
        ("script-heap", settings.scripts.heap.to_string()),
        ("script-stack", settings.scripts.stack.to_string()),
        ("script-value", settings.scripts.value.to_string()),
        ("script-response", settings.scripts.response.to_string()),
        ("script-log", settings.scripts.log.to_string()),
        ("ready-json", settings.ready_json.to_string()),
        (
            "header-time",
            settings.limits.header_time.as_secs().to_string(),
        ),
        (
            "stall-time",
            settings.limits.stall_time.as_secs().to_string(),
        ),
        ("idle-time", settings.limits.idle_time.as_secs().to_string()),
        (
            "request-time",
            settings.limits.request_time.as_secs().to_string(),
        ),
        ("hsts", settings.hsts.to_string()),
        ("query-plans", settings.query_plans.to_string()),
    ] {
        let stated = arguments_of_serve()
            .into_iter()
            .find(|argument| argument.get_long() == Some(flag));
        assert_eq!(
            meaning_and_default(&stated.unwrap()).1,
            Some(value),
            "{flag}"
        );
    }
}

#[test]
fn every_flag_has_its_variable() {
    let declared = include_str!("env_vars.rs");
    for argument in arguments_of_serve() {
        if argument.get_long() == Some(ONLY_A_FLAG) {
            continue;
        }
        let variable = variable_of(&argument);
        assert!(
            declared.contains(&format!("\"{variable}\"")),
            "{variable} is not declared"
        );
    }
}

/// The flag that has no environment variable and no file key: an operator accepts loss for one
/// start, and a setting that stays would accept it silently at every later start.
const ONLY_A_FLAG: &str = "accept-loss";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for argument in arguments_of_serve() {
        let long = argument.get_long().unwrap();
        let names = argument.get_value_names().unwrap_or_default();
        let value = names.first().map_or("", |name| name.as_str());
        let value = value.replace('|', "\\|");
        let is_switch = argument
            .get_num_args()
            .is_some_and(|count| count.min_values() == 0);
        let flag = if is_switch {
            format!("`--{long}`")
        } else {
            format!("`--{long} {value}`")
        };
        let (meaning, default) = meaning_and_default(&argument);
        let default = match default {
            // A default that is a sentence is prose; every other default is a value in code quotes.
            Some(sentence) if sentence.starts_with("the ") || sentence.contains(" or ") => sentence,
            Some(value) => format!("`{value}`"),
            None => String::new(),
        };
        if long == ONLY_A_FLAG {
            writeln!(page, "| `--{long}` | | | `false` | {meaning} |").unwrap();
            continue;
        }
        let key = match long {
            "config" => String::new(),
            "region" => "`regions`".to_owned(),
            "allowed-host" => "`allowed-hosts`".to_owned(),
            _ => format!("`{long}`"),
        };
        let variable = variable_of(&argument);
        writeln!(
            page,
            "| {flag} | `{variable}` | {key} | {default} | {meaning} |"
        )
        .unwrap();
    }
    page + REMARKS
}

fn arguments_of_serve() -> Vec<Arg> {
    let command = ServeArguments::augment_args(clap::Command::new("serve"));
    command.get_arguments().cloned().collect()
}

fn variable_of(argument: &Arg) -> String {
    format!(
        "ORRERY_{}",
        argument
            .get_long()
            .unwrap()
            .to_uppercase()
            .replace('-', "_")
    )
}

fn meaning_and_default(argument: &Arg) -> (String, Option<String>) {
    let help = argument.get_help().unwrap().to_string();
    match help.split_once(" [default: ") {
        Some((meaning, default)) => (
            meaning.to_owned(),
            Some(default.trim_end_matches(']').to_owned()),
        ),
        None => (help, None),
    }
}
