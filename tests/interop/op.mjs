// One op (spec/op.md): header, signature, payload, hash and id.

import { decode } from '@msgpack/msgpack';
import { blake2b } from '@noble/hashes/blake2';
import { checkCanonical, mapEntries, readHead, Walker } from './msgpack.mjs';
import { Refusal, refuse } from './refusal.mjs';

const HEADER_MAX = 4096;
const FIELDS = ['uint', 'uint', 'bytes', 'uint', 'array', 'array', 'uint', 'bytes'];
const FIELDS_MAX = 64;
const PREV_MAX = 8;
const DEPS_MAX = 32;
const SIZE_MAX = 65536;
const SECTIONS = ['', 'geo', 'participants', 'content', 'custom']; // A field of such a name is in this one
const DELEGATE_UCAN = 1;

export const hex = (bytes) => Buffer.from(bytes).toString('hex');

export const hash256 = (...parts) => blake2b(Buffer.concat(parts), { dkLen: 32 });

const isBytes = (value) => value instanceof Uint8Array;

// Ids and hashes are kept as hex, which sorts as their bytes do.
function readList(list, width) {
  if (!list.every((item) => isBytes(item) && item.length === width)) refuse('malformed');
  return list.map(hex);
}

const ascending = (list) => list.every((item, i) => i === 0 || list[i - 1] < item);

// The header at the beginning of `bytes`, checked in form and in its fields' types: its bytes, how
// many fields it has, and the values of the first eight.
function readFields(bytes) {
  const head = readHead(bytes, 0);
  if (head.type !== 'array' || head.n < FIELDS.length) refuse('malformed');
  if (head.n > FIELDS_MAX) refuse('too_large');
  if (!head.shortest) refuse('not_canonical');
  const further = new Walker(bytes);
  const values = [];
  let at = head.next;
  for (let i = 0; i < Number(head.n); i++) {
    const walker = i < FIELDS.length ? new Walker(bytes) : further;
    const end = walker.step(at, 2); // Inside the header's array
    if (i < FIELDS.length) {
      if (readHead(bytes, at).type !== FIELDS[i]) refuse('malformed');
      values.push(decode(bytes.subarray(at, end), { useBigInt64: true }));
    }
    at = end;
    if (at > HEADER_MAX) refuse('too_large');
  }
  return { header: bytes.subarray(0, at), count: Number(head.n), values };
}

function readHeader(bytes) {
  const { header, count, values } = readFields(bytes);
  const [v, kind, id, seq, prevs, depIds, size, digest] = values;
  if (v < 1 || kind >= 2 ** 32 || id.length !== 16 || size < 1 || digest.length !== 32) {
    refuse('malformed');
  }
  const prev = readList(prevs, 32);
  const deps = readList(depIds, 16);
  if (prev.length > PREV_MAX || !ascending(prev)) refuse('bad_prev');
  if (seq < 1 || (seq === 1) !== (prev.length === 0)) refuse('bad_prev');
  if (deps.length > DEPS_MAX || !ascending(deps)) refuse('bad_deps');
  if (deps.some((dep) => dep >= hex(id))) refuse('bad_deps');
  if (size > SIZE_MAX) refuse('too_large');
  return {
    header, v, kind, id: hex(id), seq: BigInt(seq), prev, deps, size: Number(size), digest,
    known: v === 1 && count === FIELDS.length, // A version that this reader understands
  };
}

// The signature at `at`: as encoded, and its 64 bytes or none.
function readSignature(bytes, at) {
  const end = new Walker(bytes).step(at);
  const head = readHead(bytes, at);
  const signature = bytes.subarray(head.next, end);
  if (head.type !== 'bytes' || ![0, 64].includes(signature.length)) refuse('malformed');
  return { sig: bytes.subarray(at, end), signature };
}

// The byte ranges of a payload's sections, or null where it counts as one.
function splitSections(payload) {
  if (payload[0] < 0x91 || payload[0] > 0x96) return null;
  const sections = [];
  let at = 1;
  try {
    while (sections.length < payload[0] - 0x90) {
      const end = new Walker(payload, { canonical: false }).step(at);
      sections.push(payload.subarray(at, end));
      at = end;
    }
  } catch {
    return null;
  }
  return at === payload.length ? sections : null;
}

const withheld = (section) => section.length === 34 && section[0] === 0xc4;

// What is here of the payload that a header announces: full, redacted or absent.
export function payloadState(payload, size, digest) {
  if (payload.length === 0) return 'absent';
  const fits = (hashes) => Buffer.compare(hash256(...hashes), digest) === 0;
  const sections = splitSections(payload) ?? [payload];
  if (payload.length === size && fits(sections.map((s) => hash256(s)))) return 'full';
  const hashes = sections.map((s) => (withheld(s) ? s.subarray(2) : hash256(s)));
  if (sections.some(withheld) && fits(hashes)) return 'redacted';
  return refuse('bad_digest');
}

export function nodePart(author) {
  return hash256(author).subarray(0, 8);
}

// Everything that can be said of an op's bytes by themselves, in the order header, signature.
// The node part, the payload and the signature itself are checked by those who know where the
// op stands: checkAuthor, payloadState, and the segment.
export function readOp(bytes) {
  const op = readHeader(bytes);
  const { sig, signature } = readSignature(bytes, op.header.length);
  const payload = bytes.subarray(op.header.length + sig.length);
  const hash = hex(hash256(Buffer.from('meshlog hash 1'), op.header, sig));
  return { ...op, sig, signature, payload, hash };
}

export function checkAuthor(op, author) {
  if (op.id.slice(16) !== hex(nodePart(author))) refuse('bad_id');
}

export function signedMessage(mesh, op) {
  return Buffer.concat([Buffer.from('meshlog op 1'), mesh, op.header]);
}

// The entries of each section that is not withheld, of a payload shaped as spec/op.md has it.
function readShape({ payload, state }) {
  checkCanonical(payload, { floats: false });
  const sections = splitSections(payload);
  if (sections === null || sections.length > SECTIONS.length) refuse('schema');
  return sections.map((section, i) => {
    if (state === 'redacted' && withheld(section)) return new Map();
    const entries = mapEntries(section);
    const [first, ...names] = entries.keys();
    const salt = decode(entries.get(first));
    const place = (name) => Math.max(SECTIONS.indexOf(name), 0);
    const isIn = (name) => !['op', 'target'].includes(name) && place(name) === i;
    if (first !== '' || !isBytes(salt) || salt.length !== 16 || !names.every(isIn)) refuse('schema');
    return entries;
  });
}

// Does this first op admit its author (spec/op.md, "First op")?
export function admits(op, author) {
  if (op.kind !== DELEGATE_UCAN) return false;
  try {
    const [core] = readShape(op);
    const [key, token, proofs] = ['key', 'token', 'proofs'].map((name) => core.has(name) && decode(core.get(name)));
    return isBytes(key) && Buffer.compare(key, author) === 0 && isBytes(token) &&
      Array.isArray(proofs) && proofs.every(isBytes);
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    return false;
  }
}

// 26 characters of Crockford's base32.
export function idText(id) {
  const number = BigInt('0x' + id);
  const digit = (i) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'[Number(number >> BigInt(5 * (25 - i)) & 31n)];
  return Array.from({ length: 26 }, (_, i) => digit(i)).join('');
}
