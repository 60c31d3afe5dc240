//! The form in which the .NET SDK writes batches and reads their results.
//!
//! A stream of records, each behind a header with its length and checksum:
//!
//! ```text
//! segment : 81 <schema> <presence> <length of this header: i32>
//! record  : 81 <schema> <length of the body: i32> <CRC-32 of the body: u32>
//! body    : 81 <schema> <presence> <8 bytes of fixed fields> <variable fields> <sparse fields>
//! variable: <length: varuint> <bytes>, for each present bit
//! sparse  : <type> <path token: varuint> <value>, to the end of the body
//! ```
//!
//! Integers are little-endian. A path token beyond the last token of the schema is the length of a
//! path whose text follows.

use orrery_json::BINARY_MARK;
use orrery_model::{Failure, parse_item};

use super::BatchResult;
use super::operation::{OperationType, RawOperation};

/// The first byte of every row.
pub(super) const VERSION: u8 = 0x81;

const SEGMENT_SCHEMA: i32 = 2_147_473_648;
const RECORD_SCHEMA: i32 = 2_147_473_649;
const OPERATION_SCHEMA: i32 = 2_145_473_648;
const RESULT_SCHEMA: i32 = 2_145_473_649;
const SEGMENT_HEADER_BYTES: i32 = 10;

const TYPE_FALSE: u8 = 2;
const TYPE_TRUE: u8 = 3;
const TYPE_INT32: u8 = 7;
const TYPE_UINT32: u8 = 11;
const TYPE_FLOAT64: u8 = 16;
const TYPE_UTF8: u8 = 20;
const TYPE_BINARY: u8 = 21;

/// The tokens of the sparse fields of an operation.
mod operation_token {
    pub(super) const INDEXING_DIRECTIVE: u64 = 8;
    pub(super) const IF_MATCH: u64 = 9;
    pub(super) const IF_NONE_MATCH: u64 = 10;
    pub(super) const MINIMAL_RETURN_PREFERENCE: u64 = 12;
    pub(super) const END: u64 = 13;
}

/// The tokens of the sparse fields of a result.
mod result_token {
    pub(super) const RETRY_AFTER_MILLISECONDS: u8 = 5;
    pub(super) const REQUEST_CHARGE: u8 = 6;
}

/// Parses the records of a batch. Every malformed byte fails the whole batch, because later records
/// could not be found.
pub(super) fn parse(body: &[u8]) -> Result<Vec<RawOperation>, Failure> {
    read_stream(body).ok_or_else(|| {
        Failure::bad_request(
            "One of the input values is invalid. The HybridRow records of the batch are malformed.",
        )
    })
}

fn read_stream(body: &[u8]) -> Option<Vec<RawOperation>> {
    let mut stream = Reader { bytes: body };
    read_segment(&mut stream)?;
    let mut operations = Vec::new();
    while !stream.bytes.is_empty() {
        operations.push(read_operation(read_record(&mut stream)?)?);
    }
    Some(operations)
}

fn read_segment(stream: &mut Reader<'_>) -> Option<()> {
    stream.row(SEGMENT_SCHEMA)?;
    // Longer segment headers have fields that are unknown here; they are skipped by their length.
    let is_length_present = stream.byte()? & 1 != 0;
    let length = stream.int32()?;
    let extra = if is_length_present {
        length.checked_sub(SEGMENT_HEADER_BYTES)?
    } else {
        0
    };
    stream.take(usize::try_from(extra).ok()?)?;
    Some(())
}

fn read_record<'b>(stream: &mut Reader<'b>) -> Option<Reader<'b>> {
    stream.row(RECORD_SCHEMA)?;
    let length = usize::try_from(stream.int32()?).ok()?;
    let checksum = u32::from_le_bytes(stream.array()?);
    let bytes = stream.take(length)?;
    // A checksum error is refused: a damaged operation must not be executed.
    (crc32fast::hash(bytes) == checksum).then_some(Reader { bytes })
}

fn read_operation(mut row: Reader<'_>) -> Option<RawOperation> {
    row.row(OPERATION_SCHEMA)?;
    let presence = row.byte()?;
    let is_present = |bit: u8| presence & (1 << bit) != 0;
    let operation_type = row.int32()?;
    let _resource_type = row.int32()?;
    let mut operation =
        // The operation type is a fixed field: its bytes exist even if its presence bit is unset.
        RawOperation::new(operation_kind(operation_type).filter(|_| is_present(0))?);
    if is_present(2) {
        operation.partition_key = Some(row.text()?);
    }
    if is_present(3) {
        // An effective partition key, which the server computes itself.
        row.variable()?;
    }
    if is_present(4) {
        operation.id = Some(row.text()?);
    }
    if is_present(5) {
        // A binary id, which this parser ignores.
        row.variable()?;
    }
    if is_present(6) {
        let body = row.variable()?;
        operation.body = Some(match body.first() {
            // Only items are sent as binary JSON.
            Some(&BINARY_MARK) => parse_item(body),
            _ => crate::body::parse_body(body),
        });
    }
    while !row.bytes.is_empty() {
        read_sparse(&mut row, &mut operation)?;
    }
    Some(operation)
}

fn read_sparse(row: &mut Reader<'_>, operation: &mut RawOperation) -> Option<()> {
    let kind = row.byte()?;
    let token = row.varuint()?;
    // A field with a path in its text is unknown here; it is skipped with its path.
    if let Some(path_length) = token.checked_sub(operation_token::END) {
        row.take(usize::try_from(path_length).ok()?)?;
    }
    match (token, row.sparse_value(kind)?) {
        (operation_token::INDEXING_DIRECTIVE, Sparse::Text(text)) => {
            operation.indexing = Some(text);
        }
        (operation_token::IF_MATCH, Sparse::Text(text)) => operation.if_match = Some(text),
        (operation_token::IF_NONE_MATCH, Sparse::Text(text)) => {
            operation.if_none_match = Some(text);
        }
        (operation_token::MINIMAL_RETURN_PREFERENCE, Sparse::Bool(value)) => {
            operation.minimal = value;
        }
        // Unknown fields are skipped, since newer SDKs add fields.
        _ => {}
    }
    Some(())
}

fn operation_kind(number: i32) -> Option<OperationType> {
    match number {
        0 => Some(OperationType::Create),
        1 => Some(OperationType::Patch),
        2 => Some(OperationType::Read),
        4 => Some(OperationType::Delete),
        5 => Some(OperationType::Replace),
        20 => Some(OperationType::Upsert),
        _ => None,
    }
}

enum Sparse {
    Bool(bool),
    Text(String),
    Other,
}

/// Reads forward. Every step is checked against the remaining bytes.
struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn int32(&mut self) -> Option<i32> {
        self.array().map(i32::from_le_bytes)
    }

    fn row(&mut self, schema: i32) -> Option<()> {
        (self.byte()? == VERSION && self.int32()? == schema).then_some(())
    }

    fn varuint(&mut self) -> Option<u64> {
        let mut value = 0;
        // Ten bytes at most: an endless varuint ends here.
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn variable(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.varuint()?).ok()?;
        self.take(length)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.variable()?.to_vec()).ok()
    }

    fn sparse_value(&mut self, kind: u8) -> Option<Sparse> {
        match kind {
            TYPE_FALSE => Some(Sparse::Bool(false)),
            TYPE_TRUE => Some(Sparse::Bool(true)),
            TYPE_INT32 | TYPE_UINT32 => self.take(4).map(|_| Sparse::Other),
            TYPE_FLOAT64 => self.take(8).map(|_| Sparse::Other),
            TYPE_UTF8 => self.text().map(Sparse::Text),
            TYPE_BINARY => self.variable().map(|_| Sparse::Other),
            _ => None,
        }
    }
}

/// Writes the results as records, with a checksum for each.
pub(super) fn write(results: &[BatchResult]) -> Vec<u8> {
    let mut out = Vec::new();
    write_row(SEGMENT_SCHEMA, &mut out);
    out.push(1);
    out.extend_from_slice(&SEGMENT_HEADER_BYTES.to_le_bytes());
    for result in results {
        let body = result_row(result);
        write_row(RECORD_SCHEMA, &mut out);
        let length = i32::try_from(body.len()).expect("a result is smaller than a response");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        out.extend_from_slice(&body);
    }
    out
}

fn result_row(result: &BatchResult) -> Vec<u8> {
    let mut row = Vec::new();
    write_row(RESULT_SCHEMA, &mut row);
    let presence =
        0b0011 | u8::from(result.etag.is_some()) << 2 | u8::from(result.body.is_some()) << 3;
    row.push(presence);
    row.extend_from_slice(&i32::from(result.status).to_le_bytes());
    row.extend_from_slice(&result.substatus.unwrap_or(0).to_le_bytes());
    if let Some(etag) = &result.etag {
        write_variable(etag.as_bytes(), &mut row);
    }
    if let Some(body) = &result.body {
        write_variable(body, &mut row);
    }
    if let Some(milliseconds) = result.retry_after_ms {
        let milliseconds = u32::try_from(milliseconds).unwrap_or(u32::MAX);
        row.extend_from_slice(&[TYPE_UINT32, result_token::RETRY_AFTER_MILLISECONDS]);
        row.extend_from_slice(&milliseconds.to_le_bytes());
    }
    row.extend_from_slice(&[TYPE_FLOAT64, result_token::REQUEST_CHARGE]);
    row.extend_from_slice(&result.charge.units().to_le_bytes());
    row
}

fn write_row(schema: i32, out: &mut Vec<u8>) {
    out.push(VERSION);
    out.extend_from_slice(&schema.to_le_bytes());
}

fn write_variable(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes.len();
    while rest >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits")]
        out.push((rest & 0x7F) as u8 | 0x80);
        rest >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "seven bits")]
    out.push(rest as u8);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use orrery_model::{Charge, OperationKind, Precondition};
    use proptest::prelude::*;

    use super::*;
    use crate::{BatchEncoding, BatchRequest};

    const REQUEST: &str = "81f0d8ff7f010a00000081f1d8ff7f220000001b7cd88b817054e17f430000000002000000\
                           137b226964223a2261222c22706b223a2270227d";
    const RESPONSE: &str = "81f0d8ff7f010a00000081f1d8ff7f1f000000b4daa709817154e17f0fc900000000000000\
                            03226522027b7d10060000000000001640";

    fn unhex(text: &str) -> Vec<u8> {
        orrery_keys::Epk::from_hex(text)
            .unwrap()
            .as_bytes()
            .to_vec()
    }

    #[test]
    fn the_example_request_is_read() {
        let request = BatchRequest::parse(&unhex(REQUEST)).unwrap();
        assert_eq!(request.encoding, BatchEncoding::HybridRow);
        let [operation] = request.operations.as_slice() else {
            panic!()
        };
        let OperationKind::Create(document) = &operation.operation.as_ref().unwrap().kind else {
            panic!()
        };
        assert_eq!(document.value().to_string(), r#"{"id":"a","pk":"p"}"#);
        assert!(operation.partition_key.is_none() && !operation.minimal);
    }

    #[test]
    fn the_example_response_is_written() {
        let result = BatchResult {
            status: 201,
            charge: Charge::from_units(5.5),
            etag: Some("\"e\"".to_owned()),
            body: Some(Bytes::from_static(b"{}")),
            ..BatchResult::default()
        };
        assert_eq!(
            BatchEncoding::HybridRow.response_body(&[result]),
            unhex(RESPONSE)
        );
    }

    /// A request of one record.
    fn stream(row: &[u8]) -> Vec<u8> {
        let mut out = unhex("81f0d8ff7f010a000000");
        write_row(RECORD_SCHEMA, &mut out);
        out.extend_from_slice(&i32::try_from(row.len()).unwrap().to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(row).to_le_bytes());
        out.extend_from_slice(row);
        out
    }

    #[test]
    fn every_field_is_read() {
        let mut row = Vec::new();
        write_row(OPERATION_SCHEMA, &mut row);
        row.push(0b0111_1111);
        row.extend_from_slice(&5_i32.to_le_bytes());
        row.extend_from_slice(&2_i32.to_le_bytes());
        let long = format!(r#"{{"id":"x","a":"{}"}}"#, "y".repeat(300));
        for field in ["[\"v\"]", "epk", "x", "rid", long.as_str()] {
            write_variable(field.as_bytes(), &mut row);
        }
        for (token, text) in [(8, "Exclude"), (9, "\"e\""), (10, "*")] {
            row.extend_from_slice(&[TYPE_UTF8, token]);
            write_variable(text.as_bytes(), &mut row);
        }
        row.extend_from_slice(&[TYPE_INT32, 11, 1, 0, 0, 0]);
        row.extend_from_slice(&[TYPE_TRUE, 12]);
        row.extend_from_slice(&[TYPE_FALSE, 15, b'z', b'z']);
        let mut request = BatchRequest::parse(&stream(&row)).unwrap();
        let batch = request.operations.remove(0);
        assert_eq!(batch.partition_key.unwrap().to_json(), r#"["v"]"#);
        assert!(batch.minimal);
        let operation = batch.operation.unwrap();
        assert_eq!(
            operation.if_match,
            Some(Precondition::Etag("\"e\"".to_owned()))
        );
        assert_eq!(operation.if_none_match, Some(Precondition::Any));
        assert_eq!(operation.indexing, orrery_model::IndexingDirective::Exclude);
        assert!(matches!(operation.kind, OperationKind::Replace { id, .. } if id == "x"));
    }

    #[test]
    fn damage_is_noticed() {
        let good = unhex(REQUEST);
        for length in 0..good.len() {
            assert!(BatchRequest::parse(&good[..length]).is_err(), "{length}");
        }
        let mut wrong_checksum = good.clone();
        *wrong_checksum.last_mut().unwrap() ^= 1;
        assert!(BatchRequest::parse(&wrong_checksum).is_err());
    }

    proptest! {
        #[test]
        fn any_row_is_answered(row in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut whole = Vec::new();
            write_row(OPERATION_SCHEMA, &mut whole);
            whole.extend_from_slice(&row);
            let _ = BatchRequest::parse(&stream(&whole));
        }

        #[test]
        fn any_stream_is_answered(index in 0_usize..57, byte in any::<u8>()) {
            let mut body = unhex(REQUEST);
            body[index] = byte;
            let _ = BatchRequest::parse(&body);
        }
    }
}
