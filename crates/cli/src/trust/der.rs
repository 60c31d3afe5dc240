//! The part of DER that certificate stores need: a PKCS #12 file around one certificate, and the
//! serial number of a certificate.

use super::hex::hex;

/// Tags of ASN.1.
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// `[0]`, around the value that it marks.
const EXPLICIT_0: u8 = 0xa0;

/// 1.2.840.113549.1.7.1, data as they are.
const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
/// 1.2.840.113549.1.12.10.1.3, a bag with a certificate.
const CERTIFICATE_BAG: &[u8] = &[
    0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x03,
];
/// 1.2.840.113549.1.9.22.1, a certificate of X.509.
const X509_CERTIFICATE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];
const VERSION_3: u8 = 3;

/// A PKCS #12 file (RFC 7292) with this certificate, without a password, a key or a signature.
pub(super) fn pkcs12(certificate: &[u8]) -> Vec<u8> {
    let typed = |identifier: &[u8], value: &[u8]| {
        let identifier = element(OBJECT_IDENTIFIER, identifier);
        element(SEQUENCE, &[identifier, element(EXPLICIT_0, value)].concat())
    };
    let octets = |bytes: &[u8]| element(OCTET_STRING, bytes);
    let bag = typed(
        CERTIFICATE_BAG,
        &typed(X509_CERTIFICATE, &octets(certificate)),
    );
    let contents = typed(DATA, &octets(&element(SEQUENCE, &bag)));
    let safe = typed(DATA, &octets(&element(SEQUENCE, &contents)));
    element(SEQUENCE, &[element(INTEGER, &[VERSION_3]), safe].concat())
}

/// The serial number of a certificate in hexadecimal digits.
pub(super) fn serial_number(certificate: &[u8]) -> Option<String> {
    let (SEQUENCE, certificate, _) = split(certificate)? else {
        return None;
    };
    let (SEQUENCE, mut to_be_signed, _) = split(certificate)? else {
        return None;
    };
    // A version of 1 is left out; any other version stands before the serial number.
    if let (EXPLICIT_0, _, rest) = split(to_be_signed)? {
        to_be_signed = rest;
    }
    let (INTEGER, serial, _) = split(to_be_signed)? else {
        return None;
    };
    Some(hex(serial))
}

fn element(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = value.len().to_be_bytes();
    let significant = length.iter().skip_while(|byte| **byte == 0).copied();
    let significant: Vec<u8> = significant.collect();
    let mut out = vec![tag];
    match significant[..] {
        [] => out.push(0),
        [short] if short < 0x80 => out.push(short),
        _ => {
            // The length of a slice has at most eight bytes.
            out.push(0x80 | u8::try_from(significant.len()).unwrap_or(u8::MAX));
            out.extend(&significant);
        }
    }
    out.extend(value);
    out
}

/// Tag and value of the first element, and the bytes after this element.
fn split(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        let fold = |sum: usize, byte: &u8| sum.checked_mul(256)?.checked_add(usize::from(*byte));
        (length.iter().try_fold(0, fold)?, rest)
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some((tag, value, rest))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SerialNumber};

    use super::*;

    #[test]
    fn lengths_are_as_short_as_can_be() {
        for (length, expected) in [
            (0, &[4, 0][..]),
            (127, &[4, 0x7f]),
            (128, &[4, 0x81, 0x80]),
            (256, &[4, 0x82, 1, 0]),
        ] {
            let value = vec![7; length];
            let element = element(OCTET_STRING, &value);
            assert_eq!(element[..expected.len()], *expected);
            assert_eq!(split(&element), Some((OCTET_STRING, &value[..], &[][..])));
        }
        assert_eq!(split(&[4, 2, 0]), None);
        assert_eq!(split(&[4, 0x89, 1, 1, 1, 1, 1, 1, 1, 1, 1]), None);
    }

    #[test]
    fn a_certificate_is_in_the_innermost_bag() {
        let certificate = vec![9; 300];
        let file = pkcs12(&certificate);
        let mut at = &file[..];
        // From outside: the file, its content behind the version, the bag, and in each the data behind a type.
        let mut path = vec![SEQUENCE, INTEGER];
        let data = [SEQUENCE, OBJECT_IDENTIFIER, EXPLICIT_0, OCTET_STRING];
        let bag = [SEQUENCE, OBJECT_IDENTIFIER, EXPLICIT_0];
        path.extend(data);
        path.push(SEQUENCE);
        path.extend(data);
        path.push(SEQUENCE);
        path.extend(bag);
        path.extend(data);
        for expected in path {
            let (tag, value, rest) = split(at).unwrap();
            assert_eq!(tag, expected);
            at = match tag {
                INTEGER | OBJECT_IDENTIFIER => rest,
                _ => value,
            };
        }
        assert_eq!(at, certificate);
    }

    #[test]
    fn the_serial_number_is_read() {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.serial_number = Some(SerialNumber::from_slice(&[0x1a, 0, 0xff]));
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        assert_eq!(serial_number(certificate.der()), Some("1a00ff".to_owned()));
        assert_eq!(serial_number(&[SEQUENCE, 0]), None);
    }
}
