//! Certificates for the regions of an account, and the account's own certificate authority.
//!
//! The authority's key can certify new regions, so it stays with the operator; each region gets a
//! directory with the authority's certificate, its own certificate and its own key.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

use super::error::PeerError;
use super::identity::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use super::name::Slug;

const AUTHORITY_KEY_FILE: &str = "ca-key.pem";

/// An authority and the regions' certificates.
pub struct PeerCertificates {
    pub authority_pem: String,
    /// The key that certifies more regions.
    pub authority_key_pem: String,
    pub regions: Vec<RegionCertificate>,
}

pub struct RegionCertificate {
    pub region: String,
    pub certificate_pem: String,
    pub key_pem: String,
}

/// A new authority with a certificate for each region.
pub fn generate(regions: &[String]) -> Result<PeerCertificates, PeerError> {
    let key = KeyPair::generate().map_err(|error| refuse(&error))?;
    let authority = authority()
        .self_signed(&key)
        .map_err(|error| refuse(&error))?;
    Ok(PeerCertificates {
        authority_pem: authority.pem(),
        authority_key_pem: key.serialize_pem(),
        regions: certify(key, regions)?,
    })
}

/// Writes `ca.pem`, `ca-key.pem` and for each region a directory for [`super::PeerIdentity::load`];
/// returns the directories. If `out` has an authority already, that authority certifies the
/// regions. Existing files are not overwritten.
pub fn write(out: &Path, regions: &[String]) -> Result<Vec<PathBuf>, PeerError> {
    let (authority_path, key_path) = (out.join(AUTHORITY_FILE), out.join(AUTHORITY_KEY_FILE));
    let (authority_pem, certificates) = if key_path.exists() {
        let key = KeyPair::from_pem(&read(&key_path)?)
            .map_err(|error| PeerError::File(key_path, error.to_string()))?;
        (read(&authority_path)?, certify(key, regions)?)
    } else {
        let made = generate(regions)?;
        create(out)?;
        write_new(&authority_path, &made.authority_pem, Secrecy::Public)?;
        write_new(&key_path, &made.authority_key_pem, Secrecy::Secret)?;
        (made.authority_pem, made.regions)
    };
    let mut directories = Vec::new();
    for certificate in certificates {
        let directory = out.join(slug(&certificate.region)?.to_string());
        create(&directory)?;
        let files = [
            (KEY_FILE, &certificate.key_pem, Secrecy::Secret),
            (
                CERTIFICATE_FILE,
                &certificate.certificate_pem,
                Secrecy::Public,
            ),
            (AUTHORITY_FILE, &authority_pem, Secrecy::Public),
        ];
        for (name, pem, secrecy) in files {
            write_new(&directory.join(name), pem, secrecy)?;
        }
        directories.push(directory);
    }
    Ok(directories)
}

/// The certificate parameters are the same for each authority, so that the key alone can certify
/// more regions later.
fn authority() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "Orrery regions");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn certify(key: KeyPair, regions: &[String]) -> Result<Vec<RegionCertificate>, PeerError> {
    let issuer = Issuer::new(authority(), key);
    let mut seen: Vec<(Slug, &str)> = Vec::new();
    let mut certificates = Vec::new();
    for region in regions {
        let slug = slug(region)?;
        if let Some((_, other)) = seen.iter().find(|(other, _)| *other == slug) {
            return Err(PeerError::Alike((*other).to_owned(), region.clone()));
        }
        let mut params =
            CertificateParams::new(vec![slug.dns_name()]).map_err(|error| refuse(&error))?;
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, slug.dns_name());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().map_err(|error| refuse(&error))?;
        let certificate = params
            .signed_by(&key, &issuer)
            .map_err(|error| refuse(&error))?;
        certificates.push(RegionCertificate {
            region: region.clone(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        });
        seen.push((slug, region));
    }
    Ok(certificates)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Secrecy {
    Public,
    Secret,
}

fn write_new(path: &Path, text: &str, secrecy: Secrecy) -> Result<(), PeerError> {
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if secrecy == Secrecy::Secret {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        options.open(path)?.write_all(text.as_bytes())
    };
    write().map_err(|error| PeerError::Write(path.to_owned(), error))
}

fn read(path: &Path) -> Result<String, PeerError> {
    fs::read_to_string(path).map_err(|error| PeerError::Read(path.to_owned(), error))
}

fn create(directory: &Path) -> Result<(), PeerError> {
    fs::create_dir_all(directory).map_err(|error| PeerError::Write(directory.to_owned(), error))
}

fn slug(region: &str) -> Result<Slug, PeerError> {
    Slug::new(region).ok_or_else(|| PeerError::Name(region.to_owned()))
}

fn refuse(error: &rcgen::Error) -> PeerError {
    PeerError::Certificate(error.to_string())
}
