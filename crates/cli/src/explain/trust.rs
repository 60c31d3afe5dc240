//! Which certificate is taken for that of the server.
//!
//! A server makes a certificate of its own and leaves it in a file, so what is trusted is that very
//! certificate, or by request any: no list of authorities would know it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// What is accepted as the certificate of the server.
#[derive(Debug)]
pub(super) enum Trust {
    Anything,
    These(Vec<CertificateDer<'static>>),
}

impl Trust {
    pub(super) fn of_file(path: &Path) -> Result<Trust> {
        let read = || {
            let pem = fs::read(path)?;
            let certificates =
                CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>()?;
            if certificates.is_empty() {
                bail!("there is no certificate in it");
            }
            Ok(Trust::These(certificates))
        };
        read().with_context(|| format!("cannot read the certificate {}", path.display()))
    }

    pub(super) fn client(self) -> Result<ClientConfig> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier {
            trust: self,
            provider: Arc::clone(&provider),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(config)
    }
}

#[derive(Debug)]
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.trust {
            Trust::Anything => Ok(ServerCertVerified::assertion()),
            Trust::These(known) if known.contains(end_entity) => {
                Ok(ServerCertVerified::assertion())
            }
            Trust::These(_) => Err(CertificateError::UnknownIssuer.into()),
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
