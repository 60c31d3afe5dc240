"""A directory as one small file.

Inside is, LZ4-compressed behind its length (4 bytes, little-endian): for each file the length of its path (2), the
path, the file's size (8), the number of its parts (4), and each part as its place (8), its length (4) and its bytes.
Everything between the parts is zeros, of which journals and segments are full. A path that ends in a slash is an empty
directory. Integers are little-endian.
"""

import re
import struct

import lz4.block

# A part ends where so many zeros follow.
ZEROS_MIN = 64


def packed(files):
    """An archive of (path, bytes); the bytes of an empty directory are None."""
    out = bytearray()
    for path, content in files:
        name = path.encode()
        parts = list(_parts(content or b""))
        out += struct.pack("<H", len(name)) + name
        out += struct.pack("<QI", len(content or b""), len(parts))
        for start, part in parts:
            out += struct.pack("<QI", start, len(part)) + part
    return lz4.block.compress(bytes(out), mode="high_compression", compression=12)


def unpacked(archive):
    """The files of an archive, as `packed` takes them."""
    data = lz4.block.decompress(archive)
    place, files = 0, []

    def take(form):
        nonlocal place
        found = struct.unpack_from(form, data, place)
        place += struct.calcsize(form)
        return found

    while place < len(data):
        (length,) = take("<H")
        path, place = data[place : place + length].decode(), place + length
        size, parts = take("<QI")
        content = bytearray(size)
        for _ in range(parts):
            start, length = take("<QI")
            content[start : start + length] = data[place : place + length]
            place += length
        files.append((path, None if path.endswith("/") else bytes(content)))
    return files


def of_directory(root, prefix):
    """The files below a directory, in the order of their paths."""
    for path in sorted(root.rglob("*")):
        name = f"{prefix}/{path.relative_to(root).as_posix()}"
        if path.is_file():
            yield name, path.read_bytes()
        elif not any(path.iterdir()):
            yield f"{name}/", None


def _parts(content):
    gap = re.compile(rb"\x00{%d,}" % ZEROS_MIN)
    start = 0
    for zeros in gap.finditer(content):
        if zeros.start() > start:
            yield start, content[start : zeros.start()]
        start = zeros.end()
    if start < len(content):
        yield start, content[start:]
