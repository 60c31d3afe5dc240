//! TLS: the certificate that the listeners of a process show, and the TLS configuration.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use crate::{Error, TlsMaterial};

/// The certificate that listeners show to clients; all clones share it. [`TlsIdentity::replace`]
/// changes it while listeners run: clients that connect afterwards see the new certificate.
#[derive(Clone)]
pub struct TlsIdentity(Arc<RwLock<ActiveCertificate>>);

/// The certificate in PEM, and in the form that a handshake needs.
struct ActiveCertificate {
    material: TlsMaterial,
    certified: Arc<CertifiedKey>,
}

impl TlsIdentity {
    /// Fails if the private key does not belong to the certificate.
    pub fn new(material: TlsMaterial) -> Result<TlsIdentity, Error> {
        Ok(TlsIdentity(Arc::new(RwLock::new(ActiveCertificate::new(
            material,
        )?))))
    }

    /// Fails if the certificate cannot be used; listeners then go on with the present one.
    pub fn replace(&self, material: TlsMaterial) -> Result<(), Error> {
        // Parsed before the lock: a bad certificate must not replace the present one.
        let shown = ActiveCertificate::new(material)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = shown;
        Ok(())
    }

    /// The present certificate and its private key.
    pub fn material(&self) -> TlsMaterial {
        self.shown(|shown| shown.material.clone())
    }

    pub(crate) fn certificate_pem(&self) -> String {
        self.shown(|shown| shown.material.certificate_pem.clone())
    }

    /// Reads the present certificate under the lock.
    fn shown<T>(&self, read: impl FnOnce(&ActiveCertificate) -> T) -> T {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ActiveCertificate {
    fn new(material: TlsMaterial) -> Result<ActiveCertificate, Error> {
        let certified = Arc::new(certified(&material)?);
        Ok(ActiveCertificate {
            material,
            certified,
        })
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for TlsIdentity {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown(|shown| Arc::clone(&shown.certified)))
    }
}

/// Parses a certificate chain and its key. Fails if the key belongs to another certificate.
pub(crate) fn certified(material: &TlsMaterial) -> Result<CertifiedKey, Error> {
    let refuse = |error: &dyn fmt::Display| Error::Certificate(error.to_string());
    let chain = CertificateDer::pem_slice_iter(material.certificate_pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| refuse(&error))?;
    let key = PrivateKeyDer::from_pem_slice(material.key_pem.as_bytes())
        .map_err(|error| refuse(&error))?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map_err(|error| refuse(&error))
}

/// An acceptor that offers HTTP/2 and HTTP/1.1.
pub(crate) fn acceptor(identity: &TlsIdentity) -> Result<TlsAcceptor, Error> {
    let mut config = config(identity)?;
    // In the order of preference.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// An acceptor for direct mode, whose clients offer no protocols to choose from. Some of them speak
/// TLS 1.2 only.
pub(crate) fn direct_acceptor(identity: &TlsIdentity) -> Result<TlsAcceptor, Error> {
    Ok(TlsAcceptor::from(Arc::new(config(identity)?)))
}

/// TLS 1.2 and 1.3 with the certificate of the process.
fn config(identity: &TlsIdentity) -> Result<ServerConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Certificate(error.to_string()))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(identity.clone()));
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, RootCertStore};
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::self_signed;

    fn made() -> TlsMaterial {
        self_signed(&["localhost".to_owned()], SystemTime::now()).unwrap()
    }

    /// A client of rustls that trusts this certificate and no other.
    fn client(trusted: &TlsMaterial) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots
            .add(certified(trusted).unwrap().cert[0].clone())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config))
    }

    async fn is_trusted(acceptor: &TlsAcceptor, trusted: &TlsMaterial) -> bool {
        let (near, far) = tokio::io::duplex(1 << 16);
        let name = ServerName::try_from("localhost").unwrap();
        let client = client(trusted);
        let (verified, _) = tokio::join!(client.connect(name, near), acceptor.accept(far));
        verified.is_ok()
    }

    #[tokio::test]
    async fn a_listener_shows_the_certificate_that_is_put_in_its_place() {
        let (first, second) = (made(), made());
        let identity = TlsIdentity::new(first.clone()).unwrap();
        let acceptor = acceptor(&identity).unwrap();
        assert!(is_trusted(&acceptor, &first).await);
        identity.replace(second.clone()).unwrap();
        assert!(!is_trusted(&acceptor, &first).await);
        assert!(is_trusted(&acceptor, &second).await);
        let mixed = TlsMaterial {
            key_pem: first.key_pem.clone(),
            ..second.clone()
        };
        identity.replace(mixed).unwrap_err();
        assert!(is_trusted(&acceptor, &second).await);
    }

    #[test]
    fn debug_output_hides_private_keys() {
        let material = made();
        let identity = TlsIdentity::new(material.clone()).unwrap();
        for text in [format!("{material:?}"), format!("{identity:?}")] {
            assert!(text.len() < 40 && !text.contains("BEGIN"), "{text}");
        }
    }
}
