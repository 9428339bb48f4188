// Bundles that are hard to judge: keys and signatures that only some implementations take,
// headers at and over a limit, authors that may not speak, files put together wrongly. Each
// case is { what, error, ops, bytes }: the code of its fault or null, and how many ops are in
// the log when the reading ends.
//
// _cases.mjs FOLDER - write each bundle there, and a list of what is right: number, error, ops, what.

import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { ed25519 } from '@noble/curves/ed25519';
import { sha512 } from '@noble/hashes/sha2';
import * as make from './_make.mjs';
import { bytesOf } from './_make.mjs';
import { hash256, hex } from './op.mjs';

export const cases = [];

export const bundle = (what, error, ops, bytes) => cases.push({ what, error, ops, bytes });

// A bundle of deliveries [author, op…].
function deliver(what, error, ops, ...deliveries) {
  const count = deliveries.reduce((sum, [, ...some]) => sum + some.length, 0);
  bundle(what, error, ops, make.bundle(deliveries.map(([who, ...some]) => make.segment(who, some)), count));
}

const T0 = 1700000000000;
const ann = make.author(1);
const bob = make.author(2);
const first = make.op(ann, T0, 1, []);
const second = make.op(ann, T0 + 1, 2, [first.hash]);
const third = make.op(ann, T0 + 2, 3, [second.hash]);
const bobFirst = make.op(bob, T0, 1, []);
const message = Buffer.from('message');

// One op after the first. `built` is what make.op takes.
const next = (what, error, built) => (
  deliver(what, error, error ? 1 : 2, [ann, first], [ann, make.op(ann, T0 + 1, 2, [first.hash], built)]));

// Headers.
const nested = (depth) => (depth === 1 ? [] : [nested(depth - 1)]);
const ids = (n) => Array.from({ length: n }, (_, i) => make.id(ann, i + 1));
const hashes = (n) => Array.from({ length: n }, (_, i) => Buffer.alloc(32, i + 1));
const further = (n) => Object.fromEntries(Array.from({ length: n - 8 }, (_, i) => [i + 8, 0]));
const edited = (from, to) => ({ header: (header) => bytesOf(hex(header).replace(from, to)) });

next('an op', null, {});
next('8 prevs, of which none is here', 'gap', { fields: { 4: hashes(8) } });
next('9 prevs', 'bad_prev', { fields: { 4: hashes(9) } });
next('a prev twice', 'bad_prev', { fields: { 4: [first.hash, first.hash] } });
next('a prev of 31 bytes', 'malformed', { fields: { 4: [first.hash.subarray(1)] } });
next('a negative seq', 'malformed', { fields: { 3: -1 } });
next('the greatest seq', 'bad_prev', { fields: { 3: (1n << 63n) - 1n } });
next('32 deps', null, { fields: { 5: ids(32) } });
next('33 deps', 'bad_deps', { fields: { 5: ids(33) } });
next('a dep twice', 'bad_deps', { fields: { 5: [ids(1)[0], ids(1)[0]] } });
next('a dep greater than its id', 'bad_deps', { fields: { 5: [make.id(ann, T0 + 1, 1)] } });
next('a text for a dep', 'malformed', { fields: { 5: ['0123456789abcdef'] } });
next('a kind of 2^32 - 1', null, { fields: { 1: 2 ** 32 - 1 } });
next('a kind of 2^32', 'malformed', { fields: { 1: 1n << 32n } });
next('a negative kind', 'malformed', { fields: { 1: -1 } });
next('a version of 63 bits', null, { fields: { 0: (1n << 63n) - 1n } });
next('a version of 64 bits', 'malformed', { fields: { 0: 1n << 63n } });
next('a size of 2^32', 'too_large', { fields: { 6: 1n << 32n } });
next('a kind in a longer form', 'not_canonical', edited(/^980116/, '9801cc16'));
next('a kind in a form with sign', 'not_canonical', edited(/^980116/, '9801d016'));
next('a float for a kind', 'malformed', { fields: { 1: 22.5 } });
next('a header with a longer head', 'not_canonical', edited(/^98/, 'dc0008'));
next('an id with a longer head', 'not_canonical', edited(/c410/, 'c50010'));
next('a digest that is a text', 'malformed', edited(/c420.{64}$/, 'd920' + '61'.repeat(32)));
next('64 fields', null, { fields: further(64) });
next('65 fields', 'too_large', { fields: further(65) });
next('a float in a further field', null, { fields: { 8: 0.5 } });
next('a short float in a further field', 'not_canonical', edited(/^98(.*)$/, '99$1ca3f800000'));
next('an ext in a further field', 'malformed', edited(/^98(.*)$/, '99$1d40100'));
next('a further field 7 deep', null, { fields: { 8: nested(7) } });
next('a further field 8 deep', 'too_large', { fields: { 8: nested(8) } });
next('further fields of 1,024 values', null, { fields: { 8: Array(1022).fill(0), 9: 0 } });
next('further fields of 1,025 values', 'too_large', { fields: { 8: Array(1022).fill(0), 9: 0, 10: 0 } });
next('a further field with an odd key', null, { header: (h) => bytesOf('99' + hex(h).slice(2) + '81a95f5f70726f746f5f5f00') });
const bare = second.bytes.indexOf('c440', 0, 'hex');
next('a header of 4,096 bytes', null, { fields: { 8: Buffer.alloc(4096 - bare - 3) } });
next('a header of 4,097 bytes', 'too_large', { fields: { 8: Buffer.alloc(4097 - bare - 3) } });
next('a signature with a longer head', 'not_canonical', { sig: Buffer.concat([bytesOf('c50040'), Buffer.alloc(64)]) });
next('a signature that is a text', 'malformed', { sig: bytesOf('a0') });
next('a signature of 63 bytes', 'malformed', { sig: Buffer.concat([bytesOf('c43f'), Buffer.alloc(63)]) });

// Payloads.
const sections = [make.core().subarray(1), make.core({ geo: 1 }).subarray(1)];
const digest = make.digestOf(...sections);
const array = (...parts) => Buffer.concat([bytesOf(`9${parts.length}`), ...parts]);
const whole = array(...sections);
const stub = (section) => Buffer.concat([bytesOf('c420'), hash256(section)]);
const payload = (what, error, carried, size = whole.length, ofDigest = digest) => (
  next(`payload: ${what}`, error, { carried, digest: ofDigest, fields: { 6: size } }));
const asSections = (what, error, ...parts) => (
  payload(what, error, array(...parts), array(...parts).length, make.digestOf(...parts)));
const asOne = (what, error, bytes) => payload(what, error, bytes, bytes.length, make.digestOf(bytes));
payload('whole', null, whole);
payload('absent', null, Buffer.alloc(0));
payload('all withheld', null, array(stub(sections[0]), stub(sections[1])));
payload('withheld in the wrong order', 'bad_digest', array(stub(sections[1]), stub(sections[0])));
payload('withheld with a longer head', 'bad_digest', array(sections[0], Buffer.concat([bytesOf('c50020'), hash256(sections[1])])));
payload('a section too many', 'bad_digest', array(...sections, sections[0]));
payload('a longer head around it', 'bad_digest', Buffer.concat([bytesOf('dc0002'), ...sections]), whole.length + 2);
payload('a byte behind it', 'bad_digest', Buffer.concat([whole, Buffer.of(0)]), whole.length + 1);
asSections('sections in any form', null, bytesOf('cc01'), bytesOf('81d90161ca00000000'), bytesOf('8101a1ff'));
asSections('a whole section that looks withheld', null, stub(sections[0]));
asSections('6 sections', null, ...Array(6).fill(Buffer.of(0)));
asSections('7 sections', 'bad_digest', ...Array(7).fill(Buffer.of(0)));
asOne('7 sections count as one', null, array(...Array(7).fill(Buffer.of(0))));
asOne('no sections count as one', null, bytesOf('90'));
asOne('the reserved byte counts as one', null, bytesOf('91c1'));
asSections('the reserved byte as a section', 'bad_digest', bytesOf('c1'));
asOne('an ext counts as one', null, bytesOf('91d40100'));
asSections('an ext as a section', 'bad_digest', bytesOf('d40100'));
asSections('an integer of 63 bits as a section', null, bytesOf('cf7fffffffffffffff'));
asSections('an integer of 64 bits as a section', 'bad_digest', bytesOf('cf8000000000000000'));
asOne('an integer of 64 bits counts as one', null, bytesOf('91cf8000000000000000'));
asSections('a section 8 deep', null, bytesOf('91'.repeat(7) + '90'));
asSections('a section 9 deep', 'bad_digest', bytesOf('91'.repeat(8) + '90'));
asSections('two sections of 1,024 values', null, ...Array(2).fill(bytesOf('dc03ff' + '00'.repeat(1023))));
asSections('a section of 1,025 values', 'bad_digest', bytesOf('dc0400' + '00'.repeat(1024)));

// Segments.
const largest = make.core({ text: 'x'.repeat(65536 - 29) });
function line(payloads) {
  const ops = [first];
  for (const one of payloads) {
    ops.push(make.op(ann, T0 + ops.length, ops.length + 1, [ops.at(-1).hash], { payload: one }));
  }
  return ops.slice(1);
}
const sizes = (what, error, ops, payloads) => deliver(what, error, ops, [ann, first], [ann, ...line(payloads)]);
sizes('payloads of 1 MiB', null, 17, Array(16).fill(largest));
sizes('payloads of more', 'too_large', 1, [...Array(16).fill(largest), make.core()]);
const announced = (n) => Buffer.concat([ann.key, bytesOf('0001'), make.length(n)]);
bundle('an op as long as any', 'truncated', 0, make.bundle([announced(69903)], 1));
bundle('an op longer than any', 'too_large', 0, make.bundle([announced(69904)], 1));
const noSig = { sig: bytesOf('c400') };
const garbage = { sign: () => Buffer.alloc(64, 1) };
const unsigned = make.op(ann, T0 + 1, 2, [first.hash], noSig);
deliver('an inner op without signature', null, 3, [ann, first, unsigned, make.op(ann, T0 + 2, 3, [unsigned.hash])]);
deliver('an end without signature', 'bad_signature', 0, [ann, first, unsigned]);
const wrong = make.op(ann, T0 + 1, 2, [first.hash], garbage);
deliver('an inner op with a garbage signature', null, 3, [ann, first, wrong, make.op(ann, T0 + 2, 3, [wrong.hash])]);
next('an end with a garbage signature', 'bad_signature', garbage);

// Signatures.
const { Point } = ed25519;
const ORDER = Point.Fn.ORDER;
const number = (bytes) => BigInt('0x' + Buffer.from(bytes).reverse().toString('hex'));
const scalar = (n) => Buffer.from(n.toString(16).padStart(64, '0'), 'hex').reverse();
const torsion = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'); // Of order 8
const { scalar: secret, point } = ed25519.utils.getExtendedPublicKey(ann.secret);
// A signer whose R is nonce·B + more and whose key is A: right up to the cofactor.
const forger = (A, nonce, more = Point.ZERO) => (signed) => {
  const R = (nonce === 0n ? Point.ZERO : Point.BASE.multiply(nonce)).add(more).toBytes();
  const k = number(sha512(Buffer.concat([R, A.toBytes(), signed]))) % ORDER;
  return Buffer.concat([R, scalar((nonce + k * secret) % ORDER)]);
};
next('signature: a nonce of our choice', null, { sign: forger(point, 5n) });
next('signature: S and the order', 'bad_signature', { sign: (signed) => {
  const good = ann.sign(signed);
  return Buffer.concat([good.subarray(0, 32), scalar(number(good.subarray(32)) + ORDER)]);
} });
next('signature: R with some torsion', 'bad_signature', { sign: forger(point, 5n, torsion) });
next('signature: R of small order', 'bad_signature', { sign: forger(point, 0n) });
// One in eight of these fulfils the equation; the key must be refused for what it is.
const mixed = point.add(torsion);
for (let nonce = 1n; nonce <= 16n; nonce++) {
  const who = { key: Buffer.from(mixed.toBytes()), sign: forger(mixed, nonce) };
  deliver(`a key of mixed order, ${nonce}`, 'unknown_author', 0, [who, make.op(who, T0, 1, [])]);
}
for (const [what, key] of [
  ['the neutral element', '01' + '00'.repeat(31)],
  ['of order 8', hex(torsion.toBytes())],
  ['not canonical', 'ee' + 'ff'.repeat(30) + '7f'],
  ['no point', '02' + '00'.repeat(31)],
]) {
  const who = { key: bytesOf(key), sign: () => Buffer.concat([bytesOf('01' + '00'.repeat(31)), Buffer.alloc(32)]) };
  deliver(`a key that is ${what}`, 'unknown_author', 0, [who, make.op(who, T0, 1, [])]);
}

// Who may speak.
const admission = (what, error, built) => (
  deliver(`first op: ${what}`, error, error ? 0 : 1, [ann, make.op(ann, T0, 1, [], built)]));
const delegation = { key: ann.key, proofs: [], token: Buffer.from('token') };
admission('as it should be', null, {});
admission('with proofs', null, { payload: make.core({ ...delegation, proofs: [message] }) });
admission('with more fields', null, { payload: make.core({ ['__proto__']: 0, ...delegation, z: 1 }) });
admission('of another kind', 'unknown_author', { fields: { 1: 22 } });
admission('of a later version', null, { fields: { 0: 2 } });
admission('with a ninth field', null, { fields: { 8: 0 } });
admission('without its payload', 'unknown_author', { carried: Buffer.alloc(0) });
admission('with the key of another', 'unknown_author', { payload: make.core({ ...delegation, key: bob.key }) });
admission('without proofs', 'unknown_author', { payload: make.core({ key: ann.key, token: message }) });
admission('with proofs that are no list', 'unknown_author', { payload: make.core({ ...delegation, proofs: message }) });
admission('with a text for a proof', 'unknown_author', { payload: make.core({ ...delegation, proofs: ['x'] }) });
admission('without a token', 'unknown_author', { payload: make.core({ key: ann.key, proofs: [] }) });
admission('with a text for a token', 'unknown_author', { payload: make.core({ ...delegation, token: 'token' }) });
admission('with an empty token', null, { payload: make.core({ ...delegation, token: Buffer.alloc(0) }) });
admission('with keys out of order', 'unknown_author', { payload: make.core({ token: message, ...delegation }) });
admission('with a float', 'unknown_author', { payload: make.core({ a: 0.5, ...delegation }) });
const withMore = (...more) => {
  const parts = [make.firstPayload(ann).subarray(1), ...more];
  return { payload: Buffer.concat([Buffer.of(0x90 + parts.length), ...parts]), digest: make.digestOf(...parts) };
};
const section = (fields) => make.core(fields).subarray(1);
admission('with more sections', null, withMore(section({ geo: 1 }), section({})));
admission('with a section that is no map', 'unknown_author', withMore(Buffer.of(0)));
admission('with a field in the wrong section', 'unknown_author', withMore(section({ content: 1 })));
admission('with a section too many', 'unknown_author', withMore(...Array(5).fill(section({}))));
admission('with a forbidden field', 'unknown_author', { payload: make.core({ ...delegation, op: 0 }) });
admission('signed for another mesh', 'bad_signature', { mesh: Buffer.alloc(32) });
deliver('a second first op', null, 2, [ann, first], [ann, make.op(ann, T0 + 1, 1, [])]);
deliver('an author without a first op', 'unknown_author', 0, [ann, second]);
deliver("another author's op as prev", 'gap', 2, [ann, first], [bob, bobFirst], [bob, make.op(bob, T0 + 1, 2, [first.hash])]);
deliver('the op of one author in the segment of another', 'bad_id', 1, [ann, first], [bob, second]);
deliver('a gap', 'gap', 1, [ann, first], [ann, third]);
deliver('an id that stands still', 'bad_id', 1, [ann, first], [ann, make.op(ann, T0, 2, [first.hash])]);
deliver('a seq too great, after a head', 'bad_prev', 1, [ann, first], [ann, make.op(ann, T0 + 1, 3, [first.hash])]);
const rival = make.op(ann, T0 + 1, 2, [first.hash], { fields: { 1: 23 } });
const both = [second.hash, rival.hash].sort(Buffer.compare);
const join = (what, error, ops, seq, built) => deliver(`a join ${what}`, error, ops,
  [ann, first, second], [ann, rival], [ann, make.op(ann, T0 + 2, seq, both, built)]);
join('as it should be', null, 4, 3);
join('with a seq too small', 'bad_prev', 3, 2);
join('without signature', 'bad_signature', 3, 3, noSig);
const abandon = make.op(ann, T0 + 1, 2, [first.hash], { fields: { 1: 6 } });
deliver('an Abandon and what it voids', null, 4, [ann, first, abandon], [ann, make.op(ann, T0 + 2, 2, [first.hash])],
  [ann, make.op(ann, T0 + 2, 2, [first.hash], { fields: { 1: 9 } })]);

// Files.
const segments = [make.segment(ann, [first, second]), make.segment(bob, [bobFirst]), make.segment(ann, [third])];
export const sample = make.bundle(segments, 4);
export const HEAD = 72;
export const starts = [HEAD]; // Of the sample's frames, then of its end
for (const one of segments) starts.push(starts.at(-1) + 4 + one.length + 16);
export const takenAt = [0, 2, 3, 4]; // How many ops are in the log when the reading comes there
const pieces = (...bounds) => Buffer.concat(bounds.map(([from, to]) => sample.subarray(from, to)));

bundle('a bundle', null, 4, sample);
bundle('a bundle of nothing', null, 0, make.bundle([], 0));
bundle('a segment repeated', null, 4, make.bundle([...segments, segments[0]], 6));
bundle('an empty file', 'not_a_bundle', 0, Buffer.alloc(0));
bundle('a text', 'not_a_bundle', 0, Buffer.from('meshlog bundles are something else'));
bundle('a short text', 'not_a_bundle', 0, Buffer.from('mesh?'));
bundle('the next version', 'newer_schema', 0, make.bundle(segments, 4, { version: 2 }));
bundle('the next version, cut behind it', 'newer_schema', 0, make.bundle([], 0, { version: 2 }).subarray(0, 16));
bundle('version 0', 'newer_schema', 0, make.bundle(segments, 4, { version: 0 }));
bundle('a byte too many', 'trailing', 4, Buffer.concat([sample, Buffer.of(0)]));
bundle('two bundles', 'trailing', 4, Buffer.concat([sample, sample]));
bundle('an op more than announced', 'malformed', 4, make.bundle(segments, 3));
bundle('an op fewer than announced', 'malformed', 4, make.bundle(segments, 5));
bundle('segments in the wrong order', 'unknown_author', 0, make.bundle([...segments].reverse(), 4));
bundle('a frame of the greatest length', 'truncated', 0, Buffer.concat([pieces([0, HEAD]), make.length(2167586)]));
bundle('a frame longer than that', 'too_large', 0, Buffer.concat([pieces([0, HEAD]), make.length(2167587)]));
bundle('a segment of 10 bytes', 'truncated', 0, make.bundle([Buffer.alloc(10)], 0));
bundle('two frames exchanged', 'malformed', 0, pieces([0, HEAD], [starts[1], starts[2]], [HEAD, starts[1]], [starts[2]]));
bundle('a frame repeated', 'malformed', 2, pieces([0, starts[1]], [HEAD]));
bundle('a frame left out', 'malformed', 0, pieces([0, HEAD], [starts[1]]));

if (process.argv[2] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = process.argv[2];
  cases.forEach(({ bytes }, i) => writeFileSync(`${folder}/${i}.bundle`, bytes));
  const list = cases.map(({ what, error, ops }, i) => `${i} ${error ?? 'none'} ${ops} ${what}\n`);
  writeFileSync(`${folder}/list`, list.join(''));
}
