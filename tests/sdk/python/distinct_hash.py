"""The 128-bit hash by which arrays sort among arrays and objects among objects.

MurmurHash3 x64 with a 128-bit seed; a pair here is `(low, high)`.
"""

import struct

_MASK = (1 << 64) - 1
_ROOT = (0xBFC2359EAFC0E2B7, 0x8846E00284C4CF1F)
_NULL = (0x1380F68BB3B0CFE4, 0x156C918BF564EE48)
_FALSE = (0xC1BE517FE893B40C, 0xE9FC8A4C531CD0DD)
_TRUE = (0xF86D4ABF9A412E74, 0x788488365C8A985D)
_STRING = (0x61F53F0A44204CFB, 0x09481BE8EF4B56DD)
_ARRAY = (0xFA573B014C4DC18E, 0xA014512C858EB115)
_OBJECT = (0x77B285AC511AEF30, 0x3DCF187245822449)
_INDEX = (0xFE057204216DB999, 0x5B1CC3178BD9C593)
_NAME = (0xC915DDE058492A8A, 0x7C8BE2EBA72E4634)
_NUMBER = (0x2400E8B894CE9C2A, 0x790BE1EABD7B9481)


def distinct_hash(value):
    """The hash as sixteen bytes that compare in sort order."""
    return _bytes(_hash(value, _ROOT))


def _hash(value, seed):
    if value is None:
        return _murmur(_bytes(_NULL), seed)
    if isinstance(value, bool):
        return _murmur(_bytes(_TRUE if value else _FALSE), seed)
    if isinstance(value, (int, float)):
        return _murmur(struct.pack("<d", value) + b"\0\0", _murmur(_bytes(_NUMBER), seed))
    if isinstance(value, str):
        return _murmur(value.encode(), _murmur(_bytes(_STRING), seed))
    if isinstance(value, list):
        result = _murmur(_bytes(_ARRAY), seed)
        for index, element in enumerate(value):
            result = _murmur(_bytes(_hash(element, _plus(_INDEX, index))), result)
        return result
    mixed = (0, 0)
    for name, member in value.items():
        part = _hash(member, _hash(name, _NAME))
        mixed = (mixed[0] ^ part[0], mixed[1] ^ part[1])
    result = _murmur(_bytes(_OBJECT), seed)
    return _murmur(_bytes(mixed), result) if mixed != (0, 0) else result


def _bytes(pair):
    return struct.pack("<QQ", *pair)


def _plus(pair, amount):
    total = (pair[0] | pair[1] << 64) + amount
    return total & _MASK, total >> 64 & _MASK


def _rotate(x, count):
    return (x << count | x >> (64 - count)) & _MASK


def _finish(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & _MASK
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return x ^ x >> 33


def _murmur(data, seed):
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1, h2 = seed

    def scramble1(k):
        return _rotate(k * c1 & _MASK, 31) * c2 & _MASK

    def scramble2(k):
        return _rotate(k * c2 & _MASK, 33) * c1 & _MASK

    whole = len(data) // 16 * 16
    for start in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", data, start)
        h1 = (_rotate(h1 ^ scramble1(k1), 27) + h2) * 5 + 0x52DCE729 & _MASK
        h2 = (_rotate(h2 ^ scramble2(k2), 31) + h1) * 5 + 0x38495AB5 & _MASK
    tail = data[whole:]
    h1 ^= scramble1(int.from_bytes(tail[:8], "little"))
    h2 ^= scramble2(int.from_bytes(tail[8:], "little"))
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = h1 + h2 & _MASK
    h2 = h2 + h1 & _MASK
    h1, h2 = _finish(h1), _finish(h2)
    h1 = h1 + h2 & _MASK
    return h1, h2 + h1 & _MASK
