//! TLS: the self-signed certificate, and the configuration of the listener.

use std::sync::Arc;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::{Error, TlsMaterial};

/// Makes a certificate for these names and addresses that clients can add to what they trust.
pub fn self_signed(host_names: &[String]) -> Result<TlsMaterial, Error> {
    let make = || {
        let mut params = CertificateParams::new(host_names)?;
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "localhost");
        // Trust stores take a certificate only if it may sign itself.
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(TlsMaterial {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        })
    };
    make().map_err(|error: rcgen::Error| Error::Certificate(error.to_string()))
}

/// An acceptor that offers HTTP/2 and HTTP/1.1.
pub(crate) fn acceptor(material: &TlsMaterial) -> Result<TlsAcceptor, Error> {
    let refuse = |error: &dyn std::fmt::Display| Error::Certificate(error.to_string());
    let chain = CertificateDer::pem_slice_iter(material.certificate_pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| refuse(&error))?;
    let key = PrivateKeyDer::from_pem_slice(material.key_pem.as_bytes())
        .map_err(|error| refuse(&error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse(&error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| refuse(&error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
