// HMAC-SHA256 in JavaScript: browsers offer no cryptography to pages over plain HTTP from another machine.

const ROUND_CONSTANTS = fractions((n) => Math.cbrt(n), 64);
const START = fractions((n) => Math.sqrt(n), 8);
/** The block size of SHA-256. */
const BLOCK_BYTES = 64;

/** The first 32 bits of the fractional parts of roots of the first primes. */
function fractions(root: (n: number) => number, count: number): Uint32Array {
  const words = new Uint32Array(count);
  for (let candidate = 2, found = 0; found < count; candidate++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) prime &&= candidate % divisor !== 0;
    if (!prime) continue;
    const value = root(candidate);
    words[found++] = (value - Math.floor(value)) * 2 ** 32;
  }
  return words;
}

/** The SHA-256 digest of a message (FIPS 180-4). */
export function sha256(message: Uint8Array): Uint8Array {
  // The padding has one byte 0x80, zeros, and the length in bits as 64 bits.
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK_BYTES) * BLOCK_BYTES);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor((message.length * 8) / 2 ** 32));
  view.setUint32(padded.length - 4, message.length * 8);
  const state = START.slice();
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += BLOCK_BYTES) {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + i * 4);
    for (let i = 16; i < 64; i++) {
      const [x, y] = [words[i - 15]!, words[i - 2]!];
      words[i] =
        words[i - 16]! + words[i - 7]! +
        (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) +
        (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    mix(state, words);
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => out.setUint32(i * 4, word));
  return new Uint8Array(out.buffer);
}

/** Mixes one block into the state: 64 rounds over the expanded words. */
function mix(state: Uint32Array, words: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + ROUND_CONSTANTS[i]! + words[i]!) >>> 0;
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority) >>> 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) >>> 0, c, b, a, (first + second) >>> 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = state[i]! + word));
}

/** Rotates a 32-bit word to the right. */
function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** HMAC (RFC 2104) with SHA-256. */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES);
  block.set(key.length > BLOCK_BYTES ? sha256(key) : key);
  const inner = joined(block.map((byte) => byte ^ 0x36), message);
  return sha256(joined(block.map((byte) => byte ^ 0x5c), sha256(inner)));
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
