// Canonical msgpack (spec/op.md). Whole numbers are BigInt, floats Number, texts String, byte strings Buffer,
// arrays Array, maps Map with text keys, and null, true, false are themselves. decode() takes nothing that
// encode() would write otherwise.

const DEPTH_MAX = 8;
const VALUES_MAX = 1024;
const INT_MAX = (1n << 63n) - 1n;
const INT_MIN = -(1n << 63n);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class MsgpackError extends Error {}

function insist(condition, code, what) {
  if (!condition) throw new MsgpackError(`${code}: ${what}`);
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.values = 0;
  }

  take(length) {
    insist(this.at + length <= this.bytes.length, 'truncated', `${length} bytes at ${this.at}`);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  uint(width) {
    return this.take(width).reduce((n, byte) => (n << 8n) | BigInt(byte), 0n);
  }

  // A length in `width` bytes that the next shorter form, up to `shorter`, does not hold.
  length(width, shorter) {
    const n = Number(this.uint(width));
    insist(n > shorter, 'not_canonical', 'a head that is longer than need be');
    return n;
  }

  integer(width, signed) {
    const raw = this.uint(width);
    const n = signed ? BigInt.asIntN(8 * width, raw) : raw;
    insist(n <= INT_MAX, 'malformed', 'an integer over 2^63 - 1');
    insist(encodeInteger(n).length === 1 + width && !(signed && n >= 0n), 'not_canonical', 'an integer that is longer than need be');
    return n;
  }

  float64() {
    const n = this.take(8).readDoubleBE();
    insist(Number.isFinite(n), 'not_canonical', 'a float that is no number');
    return n;
  }

  text(length) {
    const bytes = this.take(length);
    insist(!bytes.includes(0), 'not_canonical', 'a text with U+0000');
    try {
      return utf8.decode(bytes);
    } catch {
      throw new MsgpackError('not_canonical: a text that is not UTF-8');
    }
  }

  // More values than there may be are not read, nor is it asked whether they are here.
  boundLength(length) {
    insist(length <= VALUES_MAX, 'too_large', `more than ${VALUES_MAX} values`);
  }

  array(length, depth) {
    this.boundLength(length);
    const items = [];
    for (let i = 0; i < length; i++) items.push(this.value(depth));
    return items;
  }

  map(length, depth) {
    this.boundLength(length);
    const map = new Map();
    let before = null;
    for (let i = 0; i < length; i++) {
      const key = this.value(depth);
      insist(typeof key === 'string', 'not_canonical', 'a key that is no text');
      const bytes = Buffer.from(key);
      insist(before === null || Buffer.compare(before, bytes) < 0, 'not_canonical', 'keys that do not ascend');
      before = bytes;
      map.set(key, this.value(depth));
    }
    insist(!map.has('/') || isLink(map), 'not_canonical', 'a key / that makes no link');
    return map;
  }

  // A value with `depth` arrays and maps around it.
  value(depth) {
    this.values++;
    insist(this.values <= VALUES_MAX, 'too_large', `more than ${VALUES_MAX} values`);
    const head = this.take(1)[0];
    const isTree = (head >= 0x80 && head <= 0x9f) || head >= 0xdc && head <= 0xdf;
    insist(!isTree || depth < DEPTH_MAX, 'too_large', `deeper than ${DEPTH_MAX}`);
    if (head <= 0x7f) return BigInt(head);
    if (head <= 0x8f) return this.map(head & 15, depth + 1);
    if (head <= 0x9f) return this.array(head & 15, depth + 1);
    if (head <= 0xbf) return this.text(head & 31);
    if (head >= 0xe0) return BigInt(head - 256);
    switch (head) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: return this.take(this.length(1, -1));
      case 0xc5: return this.take(this.length(2, 0xff));
      case 0xc6: return this.take(this.length(4, 0xffff));
      case 0xcb: return this.float64();
      case 0xcc: return this.integer(1, false);
      case 0xcd: return this.integer(2, false);
      case 0xce: return this.integer(4, false);
      case 0xcf: return this.integer(8, false);
      case 0xd0: return this.integer(1, true);
      case 0xd1: return this.integer(2, true);
      case 0xd2: return this.integer(4, true);
      case 0xd3: return this.integer(8, true);
      case 0xd9: return this.text(this.length(1, 31));
      case 0xda: return this.text(this.length(2, 0xff));
      case 0xdb: return this.text(this.length(4, 0xffff));
      case 0xdc: return this.array(this.length(2, 15), depth + 1);
      case 0xdd: return this.array(this.length(4, 0xffff), depth + 1);
      case 0xde: return this.map(this.length(2, 15), depth + 1);
      case 0xdf: return this.map(this.length(4, 0xffff), depth + 1);
      case 0xca: throw new MsgpackError('not_canonical: a float of 32 bits');
      default: throw new MsgpackError(`malformed: the head ${head.toString(16)}`);
    }
  }
}

// The CID of a link is bytes; what they mean is asked elsewhere.
export function isLink(value) {
  return value instanceof Map && value.size === 1 && Buffer.isBuffer(value.get('/'));
}

// The one value that `bytes` are.
export function decode(bytes) {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  insist(reader.at === bytes.length, 'trailing', `bytes behind ${reader.at}`);
  return value;
}

function head(code, width, n) {
  const bytes = Buffer.alloc(1 + width);
  bytes[0] = code;
  for (let i = width, rest = BigInt.asUintN(64, BigInt(n)); i > 0; i--, rest >>= 8n) bytes[i] = Number(rest & 0xffn);
  return bytes;
}

function encodeInteger(n) {
  insist(n >= INT_MIN && n <= INT_MAX, 'too_large', 'an integer of more than 64 bits');
  if (n >= 0n) {
    if (n <= 0x7fn) return head(Number(n), 0, 0n);
    if (n <= 0xffn) return head(0xcc, 1, n);
    if (n <= 0xffffn) return head(0xcd, 2, n);
    if (n <= 0xffffffffn) return head(0xce, 4, n);
    return head(0xcf, 8, n);
  }
  if (n >= -32n) return head(Number(256n + n), 0, 0n);
  if (n >= -0x80n) return head(0xd0, 1, n);
  if (n >= -0x8000n) return head(0xd1, 2, n);
  if (n >= -0x80000000n) return head(0xd2, 4, n);
  return head(0xd3, 8, n);
}

// The head of something `length` long: within `short` it is part of the head's code, else in 1, 2 or 4 bytes.
function lengthHead(length, short, shortCode, codes) {
  if (length <= short) return head(shortCode | length, 0, 0n);
  if (codes[0] !== null && length <= 0xff) return head(codes[0], 1, length);
  return length <= 0xffff ? head(codes[1], 2, length) : head(codes[2], 4, length);
}

function encodeText(text) {
  const bytes = Buffer.from(text);
  return Buffer.concat([lengthHead(bytes.length, 31, 0xa0, [0xd9, 0xda, 0xdb]), bytes]);
}

function encodeMap(map) {
  const entries = [...map].map(([key, value]) => [Buffer.from(key), encodeText(key), encode(value)]);
  entries.sort(([a], [b]) => Buffer.compare(a, b));
  return Buffer.concat([
    lengthHead(map.size, 15, 0x80, [null, 0xde, 0xdf]), ...entries.flatMap(([, key, value]) => [key, value])]);
}

function encodeFloat(n) {
  const bytes = Buffer.alloc(9);
  bytes[0] = 0xcb;
  bytes.writeDoubleBE(n, 1);
  return bytes;
}

export function encode(value) {
  if (value === null) return Buffer.from([0xc0]);
  if (value === false) return Buffer.from([0xc2]);
  if (value === true) return Buffer.from([0xc3]);
  if (typeof value === 'bigint') return encodeInteger(value);
  if (typeof value === 'number') return encodeFloat(value);
  if (typeof value === 'string') return encodeText(value);
  if (Buffer.isBuffer(value)) return Buffer.concat([lengthHead(value.length, -1, 0, [0xc4, 0xc5, 0xc6]), value]);
  if (Array.isArray(value)) {
    return Buffer.concat([lengthHead(value.length, 15, 0x90, [null, 0xdc, 0xdd]), ...value.map(encode)]);
  }
  return encodeMap(value);
}
