//! The part of HTTP/1.1 that is needed to read one response.
//!
//! Four of some thirty headers matter, so the parser compares the position of the colon before it
//! compares a name.

use std::io::{self, BufRead as _};

/// A parsed response head, with the length of the head and of the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) bytes: usize,
    pub(crate) body: BodyLength,
    pub(crate) charge: f64,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) close: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyLength {
    Known(usize),
    Chunked,
}

impl Head {
    /// Parses a head. Returns `None` while the head is incomplete.
    pub(crate) fn parse(received: &[u8]) -> io::Result<Option<Self>> {
        let mut rest = received;
        let Some(status_line) = take_line(&mut rest)? else {
            return Ok(None);
        };
        let status = parse_status(status_line)?;
        let mut head = Self {
            status,
            bytes: 0,
            body: BodyLength::Known(0),
            charge: 0.0,
            retry_after_ms: None,
            close: false,
        };
        loop {
            let Some(line) = take_line(&mut rest)? else {
                return Ok(None);
            };
            if line.is_empty() {
                break;
            }
            head.apply(line)?;
        }
        head.bytes = received.len() - rest.len();
        // These statuses have no body, whatever the headers say.
        if status == 204 || status == 304 {
            head.body = BodyLength::Known(0);
        }
        Ok(Some(head))
    }

    /// Reads one header line, if it is one of those that matter.
    fn apply(&mut self, line: &[u8]) -> io::Result<()> {
        if let Some(value) = value_of(line, "content-length") {
            let length = parse_number(value).ok_or_else(|| invalid("content-length"))?;
            // RFC 9112: transfer-encoding overrides content-length.
            if self.body != BodyLength::Chunked {
                self.body = BodyLength::Known(length);
            }
        } else if let Some(value) = value_of(line, "x-ms-request-charge") {
            self.charge = parse_number(value).unwrap_or(0.0);
        } else if let Some(value) = value_of(line, "x-ms-retry-after-ms") {
            self.retry_after_ms = parse_number(value);
        } else if let Some(value) = value_of(line, "transfer-encoding") {
            if !value.eq_ignore_ascii_case(b"chunked") {
                // Any other encoding would need a decoder.
                return Err(invalid("transfer-encoding"));
            }
            self.body = BodyLength::Chunked;
        } else if let Some(value) = value_of(line, "connection") {
            self.close = value.eq_ignore_ascii_case(b"close");
        }
        Ok(())
    }
}

/// Decodes a chunked body into `out`. Returns the length of the encoded body, or `None` while it is
/// incomplete.
pub(crate) fn decode_chunks(received: &[u8], out: &mut Vec<u8>) -> io::Result<Option<usize>> {
    out.clear();
    let mut rest = received;
    loop {
        let Some(line) = take_line(&mut rest)? else {
            return Ok(None);
        };
        // Extensions may follow the size of a chunk.
        let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
        let size = std::str::from_utf8(size).ok().map(str::trim);
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.ok_or_else(|| invalid("chunk size"))?;
        if size == 0 {
            break;
        }
        // The chunk ends with CR LF.
        let end = size.checked_add(2).ok_or_else(|| invalid("chunk size"))?;
        let Some((chunk, after)) = rest.split_at_checked(end) else {
            return Ok(None);
        };
        out.extend_from_slice(&chunk[..size]);
        rest = after;
    }
    loop {
        match take_line(&mut rest)? {
            None => return Ok(None),
            Some([]) => return Ok(Some(received.len() - rest.len())),
            // Trailers after the last chunk are skipped.
            Some(_trailer) => {}
        }
    }
}

/// The names and values of a complete head, without the status line.
pub(crate) fn header_lines(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
}

/// Splits off a line without its end. `skip_until` is the way of the standard library to the
/// vectorised byte search of the platform.
fn take_line<'a>(rest: &mut &'a [u8]) -> io::Result<Option<&'a [u8]>> {
    let received = *rest;
    let length = rest.skip_until(b'\n')?;
    let line = received[..length].strip_suffix(b"\n");
    Ok(line.map(|line| line.strip_suffix(b"\r").unwrap_or(line)))
}

fn parse_status(line: &[u8]) -> io::Result<u16> {
    let code = line
        .strip_prefix(b"HTTP/1.")
        .and_then(|rest| rest.get(2..5));
    code.and_then(parse_number)
        .ok_or_else(|| invalid("status line"))
}

/// The value of a line with this name.
fn value_of<'a>(line: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let matches = line.get(name.len()) == Some(&b':')
        && line[..name.len()].eq_ignore_ascii_case(name.as_bytes());
    matches.then(|| line[name.len() + 1..].trim_ascii())
}

fn parse_number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("invalid {what} in the response"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nx-ms-request-charge: 1.24\r\n\
        etag: \"a\"\r\n\r\n{\"a\":1}";

    #[test]
    fn heads() {
        let plain = Head {
            status: 200,
            bytes: 0,
            body: BodyLength::Known(0),
            charge: 0.0,
            retry_after_ms: None,
            close: false,
        };
        let cases: [(&str, Head); 5] = [
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n",
                Head {
                    body: BodyLength::Known(12),
                    ..plain
                },
            ),
            (
                "HTTP/1.1 204 No Content\r\n\r\n",
                Head {
                    status: 204,
                    ..plain
                },
            ),
            (
                "HTTP/1.1 429 Too Many Requests\r\nX-MS-Retry-After-Ms: 17\r\ncontent-length: 2\r\n\r\n",
                Head {
                    status: 429,
                    retry_after_ms: Some(17),
                    body: BodyLength::Known(2),
                    ..plain
                },
            ),
            (
                "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\nConnection: close\r\n\r\n",
                Head {
                    body: BodyLength::Chunked,
                    close: true,
                    ..plain
                },
            ),
            (
                "HTTP/1.1 201 Created\nx-ms-request-charge: 7.43\n\n",
                Head {
                    status: 201,
                    charge: 7.43,
                    ..plain
                },
            ),
        ];
        for (text, expected) in cases {
            let expected = Head {
                bytes: text.len(),
                ..expected
            };
            assert_eq!(
                Head::parse(text.as_bytes()).unwrap(),
                Some(expected),
                "{text:?}"
            );
        }
    }

    #[test]
    fn every_proper_prefix_of_a_head_is_incomplete() {
        let head = Head::parse(READ).unwrap().unwrap();
        assert_eq!(
            (head.bytes, head.body),
            (READ.len() - 7, BodyLength::Known(7))
        );
        for length in 0..head.bytes {
            assert_eq!(Head::parse(&READ[..length]).unwrap(), None, "{length}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "SSH-2.0-OpenSSH\r\n\r\n",
            "HTTP/1.1 2xx OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        ] {
            assert!(Head::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn chunks() {
        let whole = b"4;note=1\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\ntrailer: x\r\n\r\n";
        let mut body = Vec::new();
        for length in 0..whole.len() {
            assert_eq!(
                decode_chunks(&whole[..length], &mut body).unwrap(),
                None,
                "{length}"
            );
        }
        let followed = [whole.as_slice(), b"HTTP/1.1"].concat();
        assert_eq!(
            decode_chunks(&followed, &mut body).unwrap(),
            Some(whole.len())
        );
        assert_eq!(body, b"{\"a\":1}");
        assert!(decode_chunks(b"zz\r\n", &mut body).is_err());
        assert!(decode_chunks(b"ffffffffffffffff\r\n", &mut body).is_err());
    }

    #[test]
    fn header_names_and_values() {
        let head = Head::parse(READ).unwrap().unwrap();
        let names: Vec<_> = header_lines(&READ[..head.bytes])
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            names,
            [
                b"Content-Length".as_slice(),
                b"x-ms-request-charge",
                b"etag"
            ]
        );
    }
}
