// Makes ops, segments and bundles for the tests, right or wrong as they ask.

import { encode } from '@msgpack/msgpack';
import { ed25519 } from '@noble/curves/ed25519';
import { blake2b } from '@noble/hashes/blake2';
import { hash256, nodePart } from './op.mjs';

export const mesh = Buffer.alloc(32, 'mesh');
const SALT = Buffer.alloc(16, 7);

export const bytesOf = (text) => Buffer.from(text, 'hex');

// An author by a number: its secret and its public key.
export function author(number) {
  const secret = Buffer.alloc(32, number);
  const sign = (message) => Buffer.from(ed25519.sign(message, secret));
  return { secret, sign, key: Buffer.from(ed25519.getPublicKey(secret)) };
}

export function id(who, ms, counter = 0) {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(ms, 0, 6);
  bytes.writeUInt16BE(counter, 6);
  bytes.set(nodePart(who.key), 8);
  return bytes;
}

export const core = (fields = {}) => Buffer.from(encode([{ '': SALT, ...fields }]));

export const digestOf = (...sections) => hash256(...sections.map((section) => hash256(section)));

export const firstPayload = (who) => core({ key: who.key, proofs: [], token: Buffer.from('token') });

// An op's bytes. `fields` replaces header fields by number (and adds some), `header` edits the
// encoded header, `sign` makes another signature, `sig` replaces it as encoded, `carried` what is carried of the payload.
export function op(who, ms, seq, prev, options = {}) {
  const payload = options.payload ?? (seq === 1 ? firstPayload(who) : core());
  const digest = options.digest ?? digestOf(payload.subarray(1)); // One section
  const fields = [1, seq === 1 ? 1 : 22, id(who, ms), seq, prev, [], payload.length, digest];
  for (const [i, value] of Object.entries(options.fields ?? {})) fields[i] = value;
  let header = Buffer.from(encode(fields, { useBigInt64: true }));
  if (options.header) header = options.header(header);
  const message = Buffer.concat([Buffer.from('meshlog op 1'), options.mesh ?? mesh, header]);
  const sig = options.sig ?? Buffer.concat([bytesOf('c440'), (options.sign ?? who.sign)(message)]);
  const bytes = Buffer.concat([header, sig, options.carried ?? payload]);
  return { bytes, hash: Buffer.from(hash256(Buffer.from('meshlog hash 1'), header, sig)), id: fields[2] };
}

export function segment(who, ops, count = ops.length) {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(count);
  return Buffer.concat([who.key, head, ...ops.flatMap(({ bytes }) => [length(bytes.length), bytes])]);
}

export function length(n) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n);
  return bytes;
}

// A bundle of these segments. `ops`: the number in its head.
export function bundle(segments, ops, { mesh: ofMesh = mesh, version = 1 } = {}) {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(ops));
  const parts = [Buffer.concat([Buffer.from('meshlog bundle\n'), Buffer.of(version), ofMesh, number])];
  for (const one of [...segments, Buffer.alloc(0)]) parts.push(Buffer.concat([length(one.length), one]));
  let check = Buffer.alloc(0);
  return Buffer.concat(parts.map((part) => {
    check = Buffer.from(blake2b(Buffer.concat([check, part]), { dkLen: 16 }));
    return Buffer.concat([part, check]);
  }));
}
