//! Makes and checks the certificate that a server signs itself.
//!
//! It is a single self-signed certificate, which serves TLS and may sign nothing else. A thief of
//! its key can pretend to be this server to clients that trust the file, but cannot pretend to be
//! another server and cannot deceive other clients. A certificate that may sign others would let
//! the thief pretend to be any server; rustls also refuses such a certificate as that of a server
//! even if the client trusts it. OpenSSL (Python, Node.js, curl), Go, Java, .NET and rustls were
//! measured to accept this form, so that a certificate authority is not needed.
//!
//! The verifier of rustls decides whether a certificate is still valid, at three points in time:
//! now, shortly before the renewal, and at the latest end of any certificate.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;

use crate::tls::certified;
use crate::{Error, TlsMaterial};

const DAY: Duration = Duration::from_hours(24);
/// Apple's systems reject a server certificate that is valid for more than 825 days.
const LIFETIME: Duration = Duration::from_hours(24 * 820);
/// The time before the end at which a certificate is renewed, in which administrators can
/// distribute the new one.
const RENEWED_BEFORE_END: Duration = Duration::from_hours(24 * 30);

/// Makes a certificate for these names and addresses that clients can add to their trusted
/// certificates. It is valid from a day before `now`, for clients with a slow clock.
pub fn self_signed(host_names: &[String], now: SystemTime) -> Result<TlsMaterial, Error> {
    let make = || {
        let mut params = CertificateParams::new(host_names)?;
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "localhost");
        // See the module comment: a certificate authority would endanger its users.
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let begin = since_epoch(now).saturating_sub(DAY);
        let epoch = rcgen::date_time_ymd(1970, 1, 1);
        params.not_before = epoch + begin;
        params.not_after = epoch + begin + LIFETIME;
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(TlsMaterial {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        })
    };
    make().map_err(|error: rcgen::Error| Error::Certificate(error.to_string()))
}

/// Checks that a certificate of [`self_signed`] is valid and has the names and the lifetime that
/// [`self_signed`] would give it now. The error names the difference; the caller then makes a new
/// certificate.
pub fn check_self_signed(
    material: &TlsMaterial,
    host_names: &[String],
    now: SystemTime,
) -> Result<(), Error> {
    let certified = certified(material)?;
    let refuse = |error: String| Err(Error::Certificate(error));
    let Some(certificate) = certified.cert.first() else {
        return refuse("there is no certificate".to_owned());
    };
    let accepted = |at: SystemTime| accepted(certificate, at);
    if let Err(error) = accepted(now).and_then(|()| accepted(now + RENEWED_BEFORE_END)) {
        return refuse(error.to_string());
    }
    // A certificate that is still valid then was made with a longer lifetime, which Apple's systems
    // reject.
    if accepted(now + LIFETIME).is_ok() {
        return refuse("it is valid for too long".to_owned());
    }
    let parsed = ParsedCertificate::try_from(certificate);
    let parsed = parsed.map_err(|error| Error::Certificate(error.to_string()))?;
    let missing = host_names.iter().find(|name| {
        // A client verifies only names of servers, so another string need not be in the
        // certificate.
        ServerName::try_from(name.as_str())
            .is_ok_and(|name| verify_server_name(&parsed, &name).is_err())
    });
    match missing {
        Some(name) => refuse(format!("it is not for {name}")),
        None => Ok(()),
    }
}

/// Verifies the certificate at a point in time, as a client does that trusts the certificate.
fn accepted(certificate: &CertificateDer<'_>, at: SystemTime) -> Result<(), rustls::Error> {
    let mut trusted = RootCertStore::empty();
    // The certificate is its own trust anchor, as on a client that added it.
    trusted.add(certificate.clone().into_owned())?;
    verify_server_cert_signed_by_trust_anchor(
        &ParsedCertificate::try_from(certificate)?,
        &trusted,
        &[],
        UnixTime::since_unix_epoch(since_epoch(at)),
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .all,
    )
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn days(days: u64) -> Duration {
        DAY * u32::try_from(days).unwrap()
    }

    /// When the certificate was made.
    fn made() -> SystemTime {
        UNIX_EPOCH + days(20_000)
    }

    #[test]
    fn a_certificate_is_valid_until_renewal_is_due() {
        let local = names(&["localhost", "127.0.0.1", "::1", "db.example"]);
        let material = self_signed(&local, made()).unwrap();
        for (at, is_good) in [
            (made(), true),
            (made() - days(2), false),
            (made() + days(780), true),
            (made() + days(800), false),
            (made() + days(900), false),
        ] {
            let checked = check_self_signed(&material, &local, at);
            assert_eq!(checked.is_ok(), is_good, "{checked:?}");
        }
    }

    #[test]
    fn clients_that_trust_it_accept_it_for_less_than_825_days() {
        let material = self_signed(&names(&["localhost"]), made()).unwrap();
        let certified = certified(&material).unwrap();
        let accepted = |at| accepted(&certified.cert[0], at);
        assert!(accepted(made() - days(2)).is_err());
        for day in [0, 400, 818] {
            accepted(made() + days(day)).unwrap();
        }
        assert!(accepted(made() + days(820)).is_err());
    }

    #[test]
    fn another_name_wants_another_certificate() {
        let material = self_signed(&names(&["localhost", "10.0.0.1"]), made()).unwrap();
        let check = |list: &[&str]| check_self_signed(&material, &names(list), made());
        check(&["localhost"]).unwrap();
        check(&["10.0.0.1", "no name"]).unwrap();
        for list in [&["localhost", "db.example"], &["localhost", "10.0.0.2"]] {
            let error = check(list).unwrap_err().to_string();
            assert!(error.contains(list[1]), "{error}");
        }
    }

    /// As versions before made them.
    #[test]
    fn a_certificate_that_may_sign_others_is_not_good() {
        let mut params = CertificateParams::new(names(&["localhost"])).unwrap();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let material = TlsMaterial {
            certificate_pem: params.self_signed(&key).unwrap().pem(),
            key_pem: key.serialize_pem(),
        };
        assert!(check_self_signed(&material, &[], SystemTime::now()).is_err());
    }

    /// A start that was cut short may have written one of two files.
    #[test]
    fn the_key_of_another_certificate_is_not_good() {
        let local = names(&["localhost"]);
        let one = self_signed(&local, made()).unwrap();
        let other = self_signed(&local, made()).unwrap();
        let mixed = TlsMaterial {
            key_pem: other.key_pem,
            ..one
        };
        assert!(check_self_signed(&mixed, &local, made()).is_err());
    }
}
