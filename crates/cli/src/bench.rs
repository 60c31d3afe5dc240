//! `orrery bench`: the load driver, and a server for it when none is named.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use orrery_bench::{
    CompileOnce, Options, PeerPlan, RegionsPlan, ServerProgram, ServerSettings, Workload,
};
use orrery_engine::{CompiledQuery, QueryText};
use orrery_json::Value;
use orrery_model::ContainerDefinition;

use crate::args::ServeArguments;
use crate::env_vars;
use crate::layer::Layer;
use crate::regions::slug;
use crate::settings::Settings;

const PREFIX: &str = "ORRERY_";

/// Request units a second that any container may have. With this limit one physical partition can
/// take the whole throughput of a container.
const ANY_THROUGHPUT: &str = "1000000";

/// Settings that belong to one server and that the measured server must not inherit. Settings of
/// its speed are inherited.
const NOT_INHERITED: [&str; 4] = [
    env_vars::CONFIG,
    env_vars::KEY_FILE,
    env_vars::SEED,
    env_vars::ADVERTISE,
];

pub(crate) async fn bench(options: Options) -> Result<()> {
    let program = match options.endpoint {
        Some(_) => None,
        None => Some(server_program(&options)?),
    };
    let json = options.json;
    let report = orrery_bench::run(options, program.as_ref()).await?;
    let text = if json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        report.to_string()
    };
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write the report")
}

/// This function resolves the cache size and the durability and passes both as flags. So the report
/// states the settings that the measured server has, whatever version of the program that server
/// is.
fn server_program(options: &Options) -> Result<ServerProgram> {
    let program = match &options.server {
        Some(program) => program.clone(),
        None => std::env::current_exe().context("cannot find the running program")?,
    };
    let workload = options.workload;
    let nothing_given = ServeArguments {
        accept_loss: false,
        config: None,
        layer: Layer::default(),
    };
    let variable = move |name: &str| {
        let inherited = is_inherited(workload, name);
        inherited.then(|| std::env::var_os(name)).flatten()
    };
    let settings = Settings::load(nothing_given, &variable)?;
    // Throttled requests would measure the throughput limit and not the server. An environment
    // variable is used instead of a flag, because older servers refuse an unknown flag and ignore
    // an unknown variable.
    let throughput = variable(env_vars::THROUGHPUT).unwrap_or_else(|| {
        let enforced = workload == Workload::Overload;
        if enforced { "on".into() } else { "off".into() }
    });
    let flags = [
        format!("--cache={}", settings.cache),
        format!("--durability={}", settings.durability),
    ];
    let certifier = program.clone();
    let certificates = move |directory: &Path, regions: &[&str]| {
        let mut command = Command::new(&certifier);
        command
            .args(["region", "certificates", "--out"])
            .arg(directory);
        for region in regions {
            command.arg("--region").arg(region);
        }
        command
    };
    let key = options.key.clone();
    let command: Arc<dyn Fn(&Path) -> Command + Send + Sync> = Arc::new(move |directory: &Path| {
        let mut command = Command::new(&program);
        // The parent's ORRERY variables would change the measured server, so the child loses them.
        for name in own_variables().filter(|name| !is_inherited(workload, name)) {
            command.env_remove(name);
        }
        command
            // The key travels in the environment: flags are visible in the list of processes.
            .env(env_vars::KEY, key.base64())
            .env(env_vars::THROUGHPUT, &throughput)
            // Port 0 and --ready-json: the server picks a free port and prints it for the load
            // driver.
            .args(["serve", "--listen=127.0.0.1:0", "--tls=off"])
            .args(["--ready-json", "--log=warn"])
            .args(&flags)
            .arg("--data")
            .arg(directory);
        command
    });
    let base = Arc::clone(&command);
    let metered = move |directory: &Path| {
        let mut command = base(directory);
        command
            .env(env_vars::THROUGHPUT, "on")
            .env(env_vars::PARTITION_THROUGHPUT, ANY_THROUGHPUT);
        command
    };
    let base = Arc::clone(&command);
    let regions = move |directory: &Path, plan: &RegionsPlan| {
        let mut command = base(directory);
        for name in &plan.names {
            command.arg("--region").arg(name);
        }
        if plan.is_strong {
            command.args(["--consistency", "strong"]);
        }
        if plan.is_multi_write {
            command.arg("--multi-write");
        }
        command
    };
    let base = Arc::clone(&command);
    let peer = move |directory: &Path, plan: &PeerPlan| {
        let (other, address) = &plan.other;
        let mut command = base(directory);
        command
            .args(["--multi-write", "--region"])
            .arg(&plan.name)
            .arg(format!("--peer-listen={}", plan.listen))
            .arg("--peer-identity")
            .arg(plan.certificates.join(slug(&plan.name)))
            .arg(format!("--peer={other}={address}"))
            .arg(format!("--join={}", plan.joins));
        command
    };
    Ok(ServerProgram {
        command: Box::new(move |directory| command(directory)),
        metered_command: Box::new(metered),
        regions_command: Box::new(regions),
        peer_command: Box::new(peer),
        certificates_command: Box::new(certificates),
        settings: ServerSettings {
            cache_bytes: settings.cache.0,
            durability: settings.durability.to_string(),
        },
        compiler: Some(Box::new(compiler)),
    })
}

/// What a server does with a query before it reads data.
fn compiler(container: &str, text: &str, parameters: &[(String, String)]) -> Result<CompileOnce> {
    let definition = ContainerDefinition::parse(&parse_json(container)?)?;
    let parameters = parameters
        .iter()
        .map(|(name, value)| Ok((name.clone(), parse_json(value)?)));
    let query = QueryText {
        text: text.to_owned(),
        parameters: parameters.collect::<Result<_>>()?,
        resume: None,
    };
    Ok(Box::new(move || {
        CompiledQuery::over_items(&query, &definition)?;
        Ok(())
    }))
}

fn parse_json(text: &str) -> Result<Value> {
    orrery_json::parse(text.as_bytes()).map_err(|error| anyhow!("not JSON: {error}"))
}

/// Published workloads measure the default settings, so these workloads inherit no variable.
fn is_inherited(workload: Workload, name: &str) -> bool {
    let published = [
        Workload::Suite,
        Workload::QuerySuite,
        Workload::Partitions,
        Workload::Regions,
    ];
    !published.contains(&workload) && !NOT_INHERITED.contains(&name)
}

fn own_variables() -> impl Iterator<Item = String> {
    std::env::vars_os()
        .filter_map(|(name, _)| OsString::into_string(name).ok())
        .filter(|name| name.starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    use crate::memory;
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Driver {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_server_for_the_suite_has_default_settings() {
        let arguments = [
            "bench",
            "--workload",
            "suite",
            "--server",
            "s",
            "--key",
            "c2VjcmV0",
        ];
        let options = Driver::try_parse_from(arguments).unwrap().options;
        let program = server_program(&options).unwrap();
        let cache = memory::cache_default();
        assert_eq!(program.settings.cache_bytes, cache.0);
        assert_eq!(program.settings.durability, "sync");

        let command = (program.command)(Path::new("d"));
        let arguments: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        let expected = format!(
            "serve --listen=127.0.0.1:0 --tls=off --ready-json --log=warn --cache={cache} \
             --durability=sync --data d"
        );
        assert_eq!(arguments.join(" "), expected);
        assert_eq!(command.get_program(), "s");
        let mut variables = command.get_envs();
        let throughput = variables.find(|(name, _)| *name == env_vars::THROUGHPUT);
        assert_eq!(throughput.unwrap().1.unwrap(), "off");
        let command = (program.metered_command)(Path::new("d"));
        let mut variables = command.get_envs();
        let throughput = variables.find(|(name, _)| *name == env_vars::THROUGHPUT);
        assert_eq!(throughput.unwrap().1.unwrap(), "on");
    }

    #[test]
    fn speed_is_inherited_and_identity_is_not() {
        for (workload, name, expected) in [
            (Workload::Read, env_vars::CACHE, true),
            (Workload::Read, env_vars::KEY_FILE, false),
            (Workload::Suite, env_vars::CACHE, false),
            (Workload::QuerySuite, env_vars::CACHE, false),
            (Workload::Partitions, env_vars::CACHE, false),
            (Workload::Regions, env_vars::REGION, false),
        ] {
            assert_eq!(is_inherited(workload, name), expected, "{name}");
        }
    }
}
