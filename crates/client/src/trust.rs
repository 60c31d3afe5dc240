//! Decides which server certificates a client trusts.
//!
//! A client trusts the certificates of the system's authorities, and those of an authority in its
//! arguments. A server that makes its certificate itself has a certificate of no authority, and
//! writes it to a file: a client can name this file, or, by request, accept any certificate.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::Endpoint;
use crate::error::Cause;

/// The certificate file of a server that was started in this directory without flags.
const LOCAL_CERTIFICATE: &str = "orrery-data/certificate.pem";

/// The certificates that a client accepts.
#[derive(Debug, Clone, Default, Args)]
pub struct TrustArguments {
    /// The certificate of the server as a PEM file; `orrery serve` says at its start where it is
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub certificate: Option<PathBuf>,

    /// Certificates of authorities to trust beside those of the system, as a PEM file
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<PathBuf>,

    /// Accept any certificate
    #[arg(long)]
    pub insecure: bool,
}

impl TrustArguments {
    /// Accepts only this certificate, or any certificate.
    pub fn new(certificate: Option<PathBuf>, insecure: bool) -> TrustArguments {
        TrustArguments {
            certificate,
            ca: None,
            insecure,
        }
    }

    pub(crate) fn client_config(&self, endpoint: &Endpoint) -> Result<ClientConfig, Cause> {
        let provider = Arc::new(ring::default_provider());
        let mut known = Vec::new();
        if let Some(path) = &self.certificate {
            known = certificates(path)?;
        } else if endpoint.is_loopback() {
            // A missing file is no error: the local server may have a certificate of an authority.
            known = certificates(Path::new(LOCAL_CERTIFICATE)).unwrap_or_default();
        }
        let verifier = Verifier {
            anything: self.insecure,
            known,
            // A certificate that the user names is the only accepted one, since the file identifies
            // the server.
            authorities: match (&self.certificate, self.insecure) {
                (None, false) => self.authorities(&provider)?,
                _ => None,
            },
            provider: Arc::clone(&provider),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            // The custom verifier accepts exact certificates, which rustls alone would reject
            // without an authority.
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(config)
    }

    /// The verifier for certificates of authorities. None without any authority.
    fn authorities(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Arc<WebPkiServerVerifier>>, Cause> {
        let mut roots = RootCertStore::empty();
        // Unreadable certificates of the system are skipped. Without any readable one the client
        // trusts no authority.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = &self.ca {
            for certificate in certificates(path)? {
                roots.add(certificate)?;
            }
        }
        if roots.is_empty() {
            return Ok(None);
        }
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        Ok(Some(builder.build()?))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Cause> {
    let wrong =
        |reason: String| format!("cannot read the certificate {}: {reason}", path.display());
    let pem = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = certificates.map_err(|error| wrong(error.to_string()))?;
    if certificates.is_empty() {
        return Err(wrong("there is no certificate in it".to_owned()).into());
    }
    Ok(certificates)
}

/// Adds advice to the error of an untrusted certificate.
pub(crate) fn explained(error: io::Error) -> Cause {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(Error::InvalidCertificate(reason)) => format!(
            "its certificate is not trusted ({reason}); name it with --certificate FILE, its authority with --ca \
             FILE, or accept any with --insecure"
        )
        .into(),
        _ => error.into(),
    }
}

#[derive(Debug)]
struct Verifier {
    anything: bool,
    known: Vec<CertificateDer<'static>>,
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The exact certificate needs no check of its name or its time: the user named this very
        // file.
        if self.anything || self.known.contains(end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.authorities {
            Some(authorities) => authorities.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            ),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
