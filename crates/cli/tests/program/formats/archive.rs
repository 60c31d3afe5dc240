//! Unpacks the archives that `tests/formats/archive.py` describes and packs.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Writes the files of an archive below a directory. Zeros between the parts of a file become a
/// hole of the file, so that a journal of 64 MiB takes no time.
pub(crate) fn unpack(archive: &[u8], root: &Path) {
    let bytes = lz4_flex::block::decompress_size_prepended(archive).unwrap();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let length = u16::from_le_bytes(take(&mut rest));
        let name = std::str::from_utf8(take_slice(&mut rest, length.into())).unwrap();
        let path = root.join(name);
        let size = u64::from_le_bytes(take(&mut rest));
        let parts = u32::from_le_bytes(take(&mut rest));
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(path).unwrap();
        file.set_len(size).unwrap();
        for _ in 0..parts {
            let start = u64::from_le_bytes(take(&mut rest));
            let length = u32::from_le_bytes(take(&mut rest));
            file.seek(SeekFrom::Start(start)).unwrap();
            file.write_all(take_slice(&mut rest, length.try_into().unwrap()))
                .unwrap();
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    take_slice(rest, N).try_into().unwrap()
}

fn take_slice<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, after) = rest.split_at(length);
    *rest = after;
    taken
}
