// Canonical msgpack (spec/op.md, "Canonical msgpack"). No package refuses what is only
// readable, so the form is checked here, before a package decodes the values.

import { refuse } from './refusal.mjs';

const DEPTH_MAX = 8;
const VALUES_MAX = 1024;

// First byte → [type, bytes of the number behind it].
const HEADS = new Map([
  [0xc0, ['nil', 0]], [0xc2, ['bool', 0]], [0xc3, ['bool', 0]],
  [0xc4, ['bytes', 1]], [0xc5, ['bytes', 2]], [0xc6, ['bytes', 4]],
  [0xca, ['float32', 4]], [0xcb, ['float64', 8]],
  [0xcc, ['uint', 1]], [0xcd, ['uint', 2]], [0xce, ['uint', 4]], [0xcf, ['uint', 8]],
  [0xd0, ['int', 1]], [0xd1, ['int', 2]], [0xd2, ['int', 4]], [0xd3, ['int', 8]],
  [0xd9, ['text', 1]], [0xda, ['text', 2]], [0xdb, ['text', 4]],
  [0xdc, ['array', 2]], [0xdd, ['array', 4]], [0xde, ['map', 2]], [0xdf, ['map', 4]],
]);

// The width that the number n must have in a head of this type.
function shortestWidth(type, n) {
  const fits = (limit, width) => (n < limit ? width : undefined);
  const wide = () => fits(1n << 8n, 1) ?? fits(1n << 16n, 2) ?? fits(1n << 32n, 4) ?? 8;
  switch (type) {
    case 'uint': return fits(128n, 0) ?? wide();
    case 'int': return n >= 0n ? NaN : [0, 1, 2, 4, 8].find((w) => n >= (w ? -1n << BigInt(8 * w - 1) : -32n));
    case 'text': return fits(32n, 0) ?? wide();
    case 'bytes': return wide();
    case 'array':
    case 'map': return fits(16n, 0) ?? fits(1n << 16n, 2) ?? 4;
  }
}

// The head at `at`: its type, its number (length, count or value), whether it is the shortest
// one, and where what it announces begins.
export function readHead(bytes, at) {
  const first = bytes[at];
  if (first === undefined) refuse('truncated');
  const fix = (type, n) => ({ type, n: BigInt(n), shortest: true, next: at + 1 });
  if (first <= 0x7f) return fix('uint', first);
  if (first <= 0x8f) return fix('map', first & 0x0f);
  if (first <= 0x9f) return fix('array', first & 0x0f);
  if (first <= 0xbf) return fix('text', first & 0x1f);
  if (first >= 0xe0) return fix('int', first - 256);

  const [type, width] = HEADS.get(first) ?? refuse('malformed'); // ext, reserved
  const next = at + 1 + width;
  if (next > bytes.length) refuse('truncated');
  let n = 0n;
  for (let i = at + 1; i < next; i++) n = (n << 8n) | BigInt(bytes[i]);
  if (type === 'int') n = BigInt.asIntN(8 * width, n);
  return { type, n, shortest: width === (shortestWidth(type, n) ?? width), next };
}

function checkText(text) {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(text);
  } catch {
    refuse('not_canonical');
  }
  if (text.includes(0)) refuse('not_canonical');
}

// Steps over whole values and counts them. `canonical: false` takes any form that can be
// stepped over.
export class Walker {
  constructor(bytes, { canonical = true, floats = true } = {}) {
    Object.assign(this, { bytes, canonical, floats, values: 0 });
  }

  // Returns where the value at `at` ends.
  step(at, depth = 1) {
    const head = readHead(this.bytes, at);
    if (head.type === 'uint' && head.n >= 1n << 63n) refuse('malformed');
    this.count(1);
    if (this.canonical) this.checkHead(head);
    switch (head.type) {
      case 'array':
      case 'map':
        return this.stepInside(head, depth);
      case 'text':
      case 'bytes': {
        const end = head.next + Number(head.n);
        if (end > this.bytes.length) refuse('truncated');
        if (this.canonical && head.type === 'text') checkText(this.bytes.subarray(head.next, end));
        return end;
      }
      default:
        return head.next;
    }
  }

  count(more) {
    this.values += more;
    if (this.values > VALUES_MAX) refuse('too_large');
  }

  checkHead({ type, n, shortest }) {
    const finite = (n >> 52n & 0x7ffn) !== 0x7ffn;
    const float = type === 'float64' && this.floats && finite;
    if (!shortest || (type.startsWith('float') && !float)) refuse('not_canonical');
  }

  stepInside({ type, n, next }, depth) {
    if (depth > DEPTH_MAX || n > VALUES_MAX) refuse('too_large');
    let at = next;
    let key = null;
    for (let i = 0; i < Number(n); i++) {
      if (type === 'map') {
        const end = this.step(at, depth + 1);
        if (this.canonical) key = this.checkKey(at, key, Number(n), end);
        at = end;
      }
      at = this.step(at, depth + 1);
    }
    return at;
  }

  // The key at `at`, after the key before it in a map of n entries. Returns its bytes.
  checkKey(at, before, n, end) {
    const head = readHead(this.bytes, at);
    const key = this.bytes.subarray(head.next, end);
    if (head.type !== 'text') refuse('not_canonical');
    if (before !== null && Buffer.compare(before, key) >= 0) refuse('not_canonical');
    if (key.length === 1 && key[0] === 0x2f) { // "/": a link, alone and bytes
      if (n !== 1 || readHead(this.bytes, end).type !== 'bytes') refuse('not_canonical');
    }
    return key;
  }
}

// Refuses bytes that are not one canonical value.
export function checkCanonical(bytes, options) {
  if (new Walker(bytes, options).step(0) !== bytes.length) refuse('trailing');
}

// The bytes of each value of a canonical map, by its key. (Packages refuse some keys.)
export function mapEntries(bytes) {
  const entries = new Map();
  const { type, next } = readHead(bytes, 0);
  if (type !== 'map') refuse('malformed');
  for (let at = next; at < bytes.length;) {
    const keyEnd = new Walker(bytes).step(at);
    const end = new Walker(bytes).step(keyEnd);
    entries.set(bytes.toString('utf8', readHead(bytes, at).next, keyEnd), bytes.subarray(keyEnd, end));
    at = end;
  }
  return entries;
}
