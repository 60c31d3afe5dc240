//! The identity of a region: its certificate, and the authority that certifies the other regions.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::error::PeerError;
use super::name::Slug;

pub(super) const AUTHORITY_FILE: &str = "ca.pem";
pub(super) const CERTIFICATE_FILE: &str = "certificate.pem";
pub(super) const KEY_FILE: &str = "key.pem";

/// Has no `Debug`, because it contains a private key.
pub struct PeerIdentity {
    certificate: CertificateDer<'static>,
    pub(super) connector: TlsConnector,
    pub(super) acceptor: TlsAcceptor,
}

impl PeerIdentity {
    /// The file with the private key, in the directory that [`Self::load`] reads.
    pub const KEY_FILE: &str = KEY_FILE;

    /// Reads `ca.pem`, `certificate.pem` and `key.pem` of a directory.
    pub fn load(directory: &Path) -> Result<PeerIdentity, PeerError> {
        let read = |name| {
            let path = directory.join(name);
            fs::read(&path).map_err(|error| PeerError::Read(path, error))
        };
        let refuse = |name, error: &dyn std::fmt::Display| {
            PeerError::File(directory.join(name), error.to_string())
        };
        let certificates = |name| {
            let pem = read(name)?;
            let parsed = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
            match parsed {
                Ok(list) if list.is_empty() => Err(refuse(name, &"it has no certificate")),
                Ok(list) => Ok(list),
                Err(error) => Err(refuse(name, &error)),
            }
        };
        let authorities = certificates(AUTHORITY_FILE)?;
        let chain = certificates(CERTIFICATE_FILE)?;
        let key = PrivateKeyDer::from_pem_slice(&read(KEY_FILE)?)
            .map_err(|error| refuse(KEY_FILE, &error))?;
        PeerIdentity::new(authorities, chain, key)
            .map_err(|error| PeerError::Certificate(error.to_string()))
    }

    /// Session resumption is off, so that each connection shows its certificates.
    fn new(
        authorities: Vec<CertificateDer<'static>>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<PeerIdentity, Box<dyn std::error::Error>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = [&rustls::version::TLS13];
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority)?;
        }
        let roots = Arc::new(roots);
        let certificate = chain.first().ok_or("there is no certificate")?.clone();
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(chain.clone(), key.clone_key())?;
        client.resumption = Resumption::disabled();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider)).build()?;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)?;
        server.send_tls13_tickets = 0;
        Ok(PeerIdentity {
            certificate,
            connector: TlsConnector::from(Arc::new(client)),
            acceptor: TlsAcceptor::from(Arc::new(server)),
        })
    }

    pub(super) fn is_for(&self, slug: &Slug) -> bool {
        is_certified(&self.certificate, slug)
    }
}

/// Whether a certificate is valid for the name of a region.
pub(super) fn is_certified(certificate: &CertificateDer<'_>, slug: &Slug) -> bool {
    let Ok(parsed) = ParsedCertificate::try_from(certificate) else {
        return false;
    };
    let Ok(name) = ServerName::try_from(slug.dns_name()) else {
        return false;
    };
    rustls::client::verify_server_name(&parsed, &name).is_ok()
}
