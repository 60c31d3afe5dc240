//! `orrery certificate`: makes the programs of a user accept the certificate of a server, or no longer.
//!
//! The server makes its certificate itself, so no client trusts it at first. Every operating
//! system, and on Linux every language, has another location for trusted certificates; this command
//! knows these locations. The command first writes a copy of the certificate, so that `untrust`
//! works after the server and its directory are gone. On Linux .NET reads a directory of the user.
//! Programs that use OpenSSL, or look up certificates the way OpenSSL does, read the one file that
//! `SSL_CERT_FILE` names *instead of* the files of the system, so that file contains the
//! authorities of the system too.

mod arguments;
mod der;
mod hex;
mod paths;
mod pem;
mod system;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

pub(crate) use arguments::CertificateArguments;
use arguments::{TrustCommand, TrustOptions};
use paths::TrustPaths;
use pem::Pem;
use system::{OperatingSystem, Owner, anchor};

use crate::certificate::CERTIFICATE_NAME;
use crate::private_file;

pub(crate) fn certificate(arguments: &CertificateArguments) -> Result<()> {
    let paths = TrustPaths::of_environment()?;
    let mut steps = Vec::new();
    let result = match &arguments.order {
        TrustCommand::Trust(which) => trust(which, &paths, &mut steps),
        TrustCommand::Untrust(which) => untrust(which, &paths, &mut steps),
    };
    // Steps before a failure have changed this machine, so they are reported too.
    let (first, rest) = match &result {
        Ok(Summary { first, rest }) => (first.as_str(), rest.as_slice()),
        Err(_) if steps.is_empty() => return result.map(drop),
        Err(_) => ("Not every step succeeded. These did:", &[][..]),
    };
    let mut text = format!("{first}\n");
    for line in steps.iter().chain(rest) {
        text += line;
        text.push('\n');
    }
    let printed = io::stdout().write_all(text.as_bytes());
    result.and(printed.context("cannot write to standard output"))
}

/// The lines for the user before and after those of the steps, if every step succeeded.
struct Summary {
    first: String,
    rest: Vec<String>,
}

impl TrustOptions {
    fn file(&self) -> PathBuf {
        let own = || self.data.join(CERTIFICATE_NAME);
        self.certificate.clone().unwrap_or_else(own)
    }

    fn owners(&self) -> impl Iterator<Item = Owner> {
        [Owner::User]
            .into_iter()
            .chain(self.system.then_some(Owner::System))
    }
}

/// Makes the certificate trusted. Each step adds its line for the user to `steps`.
fn trust(which: &TrustOptions, paths: &TrustPaths, steps: &mut Vec<String>) -> Result<Summary> {
    let file = which.file();
    let pem = Pem::read(&file)?;
    let name = pem.name();
    // The copy is first: `untrust` needs it even if a later step fails.
    let copy = paths.copy(&name);
    write(&copy, pem.text.as_bytes())?;
    steps.push(format!("  copy    {}", copy.display()));
    for owner in which.owners() {
        if (OperatingSystem::HERE, owner) == (OperatingSystem::Linux, Owner::System) {
            let anchor = anchor(&name)?;
            fs::write(&anchor, &pem.text)
                .with_context(|| format!("cannot write {}", anchor.display()))?;
            steps.push(format!("  system  {}", anchor.display()));
        }
        for step in OperatingSystem::HERE.trust(owner, &copy, paths) {
            step.run()?;
            steps.push(format!("  done    {step}"));
        }
    }
    if OperatingSystem::HERE == OperatingSystem::Linux {
        let dotnet = paths.dotnet(&name);
        write(&dotnet, &der::pkcs12(&pem.der))?;
        steps.push(format!("  .NET    {}", dotnet.display()));
    }
    let mut rest = Vec::new();
    if OperatingSystem::HERE != OperatingSystem::Windows {
        let bundle = paths.bundle();
        steps.push(match write_bundle(paths)? {
            Some(system) => format!("  others  {}, with what is in {system}", bundle.display()),
            None => format!("  others  {}, with no other authority", bundle.display()),
        });
        rest.push(String::new());
        rest.push("Programs that are not .NET's need a variable:".to_owned());
        rest.extend(variables(&bundle, &copy));
    }
    rest.push(String::new());
    let system = if which.system { " --system" } else { "" };
    let copy = copy.display();
    rest.push(format!(
        "To take it back: orrery certificate untrust --certificate \"{copy}\"{system}"
    ));
    Ok(Summary {
        first: format!("{} is trusted from now on.", file.display()),
        rest,
    })
}

fn variables(bundle: &Path, copy: &Path) -> [String; 3] {
    let (bundle, copy) = (bundle.display(), copy.display());
    [
        format!("  export SSL_CERT_FILE=\"{bundle}\"        # Go, curl, and most that use OpenSSL"),
        format!(
            "  export REQUESTS_CA_BUNDLE=\"{bundle}\"   # Python, at other names than localhost"
        ),
        format!("  export NODE_EXTRA_CA_CERTS=\"{copy}\"    # JavaScript"),
    ]
}

/// Makes the certificate untrusted. Each step adds its line for the user to `steps`.
fn untrust(which: &TrustOptions, paths: &TrustPaths, steps: &mut Vec<String>) -> Result<Summary> {
    let file = which.file();
    let pem = Pem::read(&file)?;
    let name = pem.name();
    let copy = paths.copy(&name);
    ensure!(
        copy.is_file(),
        "`orrery certificate trust` has not made {} trusted",
        file.display()
    );
    for owner in which.owners() {
        if (OperatingSystem::HERE, owner) == (OperatingSystem::Linux, Owner::System) {
            steps.extend(remove(&anchor(&name)?)?);
        }
        for step in OperatingSystem::HERE.untrust(owner, &copy, &pem)? {
            step.run()?;
            steps.push(format!("  done     {step}"));
        }
    }
    steps.extend(remove(&paths.dotnet(&name))?);
    // The copy goes last, so that `untrust` can run again after a step failed.
    steps.extend(remove(&copy)?);
    if copies(paths)?.is_empty() {
        steps.extend(remove(&paths.bundle())?);
    } else if OperatingSystem::HERE != OperatingSystem::Windows {
        write_bundle(paths)?;
        steps.push(format!("  written  {}", paths.bundle().display()));
    }
    Ok(Summary {
        first: format!("{} is no longer trusted.", file.display()),
        rest: Vec::new(),
    })
}

/// Writes the authorities of the system and the certificates that this command trusted to one file.
/// Returns the name of the system's file, if there is one.
fn write_bundle(paths: &TrustPaths) -> Result<Option<String>> {
    let read = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let system = paths.system_bundle();
    let mut text = String::new();
    for path in system.iter().chain(&copies(paths)?) {
        text += &read(path)?;
        // Two certificates on one line would make the file unreadable.
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    write(&paths.bundle(), text.as_bytes())?;
    Ok(system.map(|path| path.display().to_string()))
}

/// The copies of the trusted certificates, sorted by name.
fn copies(paths: &TrustPaths) -> Result<Vec<PathBuf>> {
    let bundle = paths.bundle();
    let entries = fs::read_dir(&paths.copies)
        .with_context(|| format!("cannot read {}", paths.copies.display()))?;
    let mut copies = Vec::new();
    for entry in entries {
        let path = entry.context("cannot read a directory")?.path();
        if path != bundle && path.extension() == Some(OsStr::new("pem")) {
            copies.push(path);
        }
    }
    copies.sort();
    Ok(copies)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        private_file::make_directory(directory)?;
    }
    private_file::write(path, bytes)
}

/// Removes a file. Returns the line for the user if the file existed.
fn remove(path: &Path) -> Result<Option<String>> {
    match fs::remove_file(path) {
        Ok(()) => Ok(Some(format!("  removed  {}", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", path.display())),
    }
}
