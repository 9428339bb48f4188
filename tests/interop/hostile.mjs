// hostile.mjs - bytes made to mislead a reader: keys and signatures that only some
// implementations take, headers just over a limit, authors that may not speak, bundles that were
// cut, changed, repeated or put together wrongly.

import { ed25519 } from '@noble/curves/ed25519';
import { sha512 } from '@noble/hashes/sha2';
import { check, totals } from './_check.mjs';
import * as make from './_make.mjs';
import { bytesOf } from './_make.mjs';
import { readKey, verify } from './ed25519.mjs';
import { Log, readSegment } from './log.mjs';
import { hash256, hex, payloadState } from './op.mjs';
import { fromBytes, readBundle } from './read-bundle.mjs';

const ann = make.author(1);
const bob = make.author(2);
const T0 = 1700000000000;

// Ed25519: what libsodium refuses.
const { Point } = ed25519;
const ORDER = Point.Fn.ORDER;
const message = Buffer.from('message');
const number = (bytes) => BigInt('0x' + Buffer.from(bytes).reverse().toString('hex'));
const scalar = (n) => Buffer.from(n.toString(16).padStart(64, '0'), 'hex').reverse();
// Of order 8: what is left of some point outside the main subgroup, times the group order.
const torsion = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05');
const { scalar: secret, point: publicPoint } = ed25519.utils.getExtendedPublicKey(ann.secret);

// A signature with this R and key A that fulfils S·B = R + k·A up to the cofactor.
function forge(R, A, nonce) {
  const k = number(sha512(Buffer.concat([R.toBytes(), A.toBytes(), message]))) % ORDER;
  return Buffer.concat([R.toBytes(), scalar((nonce + k * secret) % ORDER)]);
}

const good = Buffer.from(ed25519.sign(message, ann.secret));
const verdict = (signature, key = ann.key) => () => verify(signature, message, key);
check('a good signature', true, verdict(good));
check('another message', false, () => verify(good, Buffer.from('messagf'), ann.key));
check('another key', false, verdict(good, bob.key));
const bigS = Buffer.concat([good.subarray(0, 32), scalar(number(good.subarray(32)) + ORDER)]);
check('S + the order', false, verdict(bigS));
const R = Point.BASE.multiply(5n);
check('a nonce of our choice', true, verdict(forge(R, publicPoint, 5n)));
check('the torsion point is one', true, () => torsion.isSmallOrder() && !torsion.is0());
check('R off by a torsion point: right only times 8', false, verdict(forge(R.add(torsion), publicPoint, 5n)));
check('a package that multiplies by 8 takes it', true, () => (
  ed25519.verify(forge(R.add(torsion), publicPoint, 5n), message, ann.key, { zip215: true })));
check('R of small order', false, verdict(forge(Point.ZERO, publicPoint, 0n)));
const mixed = publicPoint.add(torsion);
for (let nonce = 1n; nonce <= 16n; nonce++) { // Some of these fulfil the equation without the 8 too.
  check(`a key of mixed order, ${nonce}`, false, verdict(forge(Point.BASE.multiply(nonce), mixed, nonce), mixed.toBytes()));
}
const zeroS = (R32) => Buffer.concat([bytesOf(R32), Buffer.alloc(32)]);
const identity = '01' + '00'.repeat(31);
for (const [what, key] of [
  ['the neutral element', identity],
  ['the neutral element with a sign', '01' + '00'.repeat(30) + '80'],
  ['order 2', 'ec' + 'ff'.repeat(30) + '7f'],
  ['order 4', '00'.repeat(32)],
  ['order 8', hex(torsion.toBytes())],
  ['y = p', 'ed' + 'ff'.repeat(30) + '7f'],
  ['y = p + 1', 'ee' + 'ff'.repeat(30) + '7f'],
  ['y = 2^255 - 1', 'ff'.repeat(31) + '7f'],
  ['no point of the curve', '02' + '00'.repeat(31)],
]) {
  check(`key: ${what}`, null, () => readKey(bytesOf(key)));
  check(`signature by key: ${what}`, false, verdict(zeroS(identity), bytesOf(key)));
}

// One op. `built` is what make.op takes.
const prev = Buffer.alloc(32, 1);
const nextOp = (built) => make.segment(ann, [make.op(ann, T0, 2, [prev], built)]);
const judge = (what, want, built) => check(what, want, () => readSegment(nextOp(built)).ops[0].state);
const nested = (depth, inside = []) => (depth === 1 ? inside : [nested(depth - 1, inside)]);
const ids = (n) => Array.from({ length: n }, (_, i) => make.id(ann, i + 1));
const hashes = (n) => Array.from({ length: n }, (_, i) => Buffer.alloc(32, i + 1));
const further = (n) => Object.fromEntries(Array.from({ length: n - 8 }, (_, i) => [i + 8, 0]));
const edited = (from, to) => ({ header: (header) => bytesOf(hex(header).replace(from, to)) });

judge('an op', 'full', {});
judge('8 prevs', 'full', { fields: { 4: hashes(8) } });
judge('9 prevs', 'bad_prev', { fields: { 4: hashes(9) } });
judge('a prev twice', 'bad_prev', { fields: { 4: [prev, prev] } });
judge('a prev of 31 bytes', 'malformed', { fields: { 4: [prev.subarray(1)] } });
judge('32 deps', 'full', { fields: { 5: ids(32) } });
judge('33 deps', 'bad_deps', { fields: { 5: ids(33) } });
judge('a dep twice', 'bad_deps', { fields: { 5: [ids(1)[0], ids(1)[0]] } });
judge('a dep greater than its id', 'bad_deps', { fields: { 5: [make.id(ann, T0, 1)] } });
judge('a text for a dep', 'malformed', { fields: { 5: ['0123456789abcdef'] } });
judge('a kind of 2^32 - 1', 'full', { fields: { 1: 2 ** 32 - 1 } });
judge('a kind of 2^32', 'malformed', { fields: { 1: 1n << 32n } });
judge('a negative kind', 'malformed', { fields: { 1: -1 } });
judge('a kind in a longer form', 'not_canonical', edited(/^980116/, '9801cc16'));
judge('a header with a longer head', 'not_canonical', edited(/^98/, 'dc0008'));
judge('an id with a longer head', 'not_canonical', edited(/c410/, 'c50010'));
judge('a digest that is a text', 'malformed', edited(/c420.{64}$/, 'd920' + '61'.repeat(32)));
judge('64 fields', 'full', { fields: further(64) });
judge('65 fields', 'too_large', { fields: further(65) });
judge('a float', 'not_canonical', { fields: { 8: 0.5 } });
judge('a ninth field 8 deep', 'full', { fields: { 8: nested(8) } });
judge('a ninth field 9 deep', 'too_large', { fields: { 8: nested(9) } });
judge('further fields of 1,024 values', 'full', { fields: { 8: Array(1022).fill(0), 9: 0 } });
judge('further fields of 1,025 values', 'too_large', { fields: { 8: Array(1022).fill(0), 9: 0, 10: 0 } });
judge('a ninth field with an odd key', 'full', { fields: { 8: new Map([['x', 1]]) } });
const bare = make.op(ann, T0, 2, [prev]).bytes.indexOf('c440', 0, 'hex');
judge('a header of 4,096 bytes', 'full', { fields: { 8: Buffer.alloc(4096 - bare - 3) } });
judge('a header of 4,097 bytes', 'too_large', { fields: { 8: Buffer.alloc(4097 - bare - 3) } });
judge('a signature with a longer head', 'not_canonical', { sig: Buffer.concat([bytesOf('c50040'), good]) });
judge('a signature that is a text', 'malformed', { sig: bytesOf('a0') });
judge('a signature of 63 bytes', 'malformed', { sig: Buffer.concat([bytesOf('c43f'), good.subarray(1)]) });

// Payloads.
const sections = [make.core().subarray(1), make.core({ geo: 1 }).subarray(1)];
const digest = make.digestOf(...sections);
const size = 1 + sections[0].length + sections[1].length;
const stub = (section) => Buffer.concat([bytesOf('c420'), hash256(section)]);
const array = (...parts) => Buffer.concat([bytesOf(`9${parts.length}`), ...parts]);
const state = (what, want, payload, ofSize = size, ofDigest = digest) => (
  check(`payload: ${what}`, want, () => payloadState(payload, ofSize, ofDigest)));
state('whole', 'full', array(...sections));
state('both withheld', 'redacted', array(stub(sections[0]), stub(sections[1])));
state('withheld in the wrong order', 'bad_digest', array(stub(sections[1]), stub(sections[0])));
state('a section too many', 'bad_digest', array(...sections, sections[0]));
state('a longer head around it', 'bad_digest', Buffer.concat([bytesOf('dc0002'), ...sections]), size + 2);
state('a byte behind it', 'bad_digest', Buffer.concat([array(...sections), Buffer.of(0)]), size + 1);
const seven = Array(7).fill(Buffer.of(0));
state('seven sections count as one', 'full', array(...seven), 8, make.digestOf(array(...seven)));
const oddForm = [bytesOf('cc01'), bytesOf('81d90161ca00000000')];
state('any form of msgpack', 'full', array(...oddForm), 12, make.digestOf(...oddForm));
const noForm = array(bytesOf('c1'));
state('what cannot be stepped over counts as one', 'full', noForm, 2, make.digestOf(noForm));

// Segments.
const big = make.core({ text: 'x'.repeat(65536 - 29) });
function chain(sizes) {
  const ops = [];
  for (const payload of sizes) {
    ops.push(make.op(ann, T0 + ops.length, ops.length + 2, [ops.at(-1)?.hash ?? prev], { payload }));
  }
  return make.segment(ann, ops);
}
check('the largest payload', 65536, () => big.length);
check('1 MiB of payloads', 16, () => readSegment(chain(Array(16).fill(big))).ops.length);
check('and one more', 'too_large', () => readSegment(chain([...Array(16).fill(big), make.core()])).ops.length);

// Who may speak.
const first = make.op(ann, T0, 1, []);
const second = make.op(ann, T0 + 1, 2, [first.hash]);
const third = make.op(ann, T0 + 2, 3, [second.hash]);
const bobThird = make.op(bob, T0 + 2, 3, [second.hash]);
const bobFirst = make.op(bob, T0, 1, []);
// Deliver [author, ops]…; the outcome of the last is wanted.
function deliver(...deliveries) {
  const log = new Log(make.mesh);
  return deliveries.map(([who, ...ops]) => log.take(make.segment(who, ops))).at(-1).appended;
}
const admission = (what, want, built) => (
  check(`first op: ${what}`, want, () => deliver([ann, make.op(ann, T0, 1, [], built)])));
const delegation = { key: ann.key, proofs: [], token: Buffer.from('token') };
admission('as it should be', 1, {});
admission('with proofs and another field', 1, {
  payload: make.core({ __proto__: null, ['__proto__']: 0, ...delegation, proofs: [message] }) });
admission('of another kind', 'unknown_author', { fields: { 1: 22 } });
admission('of a later version', 'unknown_author', { fields: { 0: 2 } });
admission('without its payload', 'unknown_author', { carried: Buffer.alloc(0) });
admission('with the key of another', 'unknown_author', { payload: make.core({ ...delegation, key: bob.key }) });
admission('without proofs', 'unknown_author', { payload: make.core({ key: ann.key, token: message }) });
admission('with proofs that are no list', 'unknown_author', { payload: make.core({ ...delegation, proofs: message }) });
admission('without a token', 'unknown_author', { payload: make.core({ key: ann.key, proofs: [] }) });
admission('with a token that is a text', 'unknown_author', { payload: make.core({ ...delegation, token: 'token' }) });
admission('signed for another mesh', 'bad_signature', { mesh: Buffer.alloc(32) });
check('a second first op', 1, () => deliver([ann, first], [ann, make.op(ann, T0 + 1, 1, [])]));
check('the author of nothing', 'unknown_author', () => deliver([ann, second]));
check("another author's op as prev", 'gap', () => deliver([ann, first], [bob, bobFirst],
  [bob, make.op(bob, T0 + 1, 2, [first.hash])]));
check('the op of one author in the segment of another', 'bad_id', () => deliver([ann, first], [bob, second]));
check('a gap', 'gap', () => deliver([ann, first], [ann, third]));
check('an id that is not greater than prev', 'bad_id', () => (
  deliver([ann, first], [ann, make.op(ann, T0, 2, [first.hash])])));
check('a seq too great, after a head', 'bad_prev', () => (
  deliver([ann, first], [ann, make.op(ann, T0 + 1, 3, [first.hash])])));
const noSig = { sig: bytesOf('c400') };
const otherSecond = make.op(ann, T0 + 1, 2, [first.hash], { fields: { 1: 23 } });
const forked = [[ann, first, second], [ann, otherSecond]];
const both = [second.hash, otherSecond.hash].sort(Buffer.compare);
check('a join', 1, () => deliver(...forked, [ann, make.op(ann, T0 + 2, 3, both)]));
check('a join with a seq too small', 'bad_prev', () => deliver(...forked, [ann, make.op(ann, T0 + 2, 2, both)]));
check('a join without signature', 'bad_signature', () => deliver(...forked, [ann, make.op(ann, T0 + 2, 3, both, noSig)]));

// Bundles.
const segments = [make.segment(ann, [first, second]), make.segment(bob, [bobFirst]), make.segment(ann, [third])];
const whole = make.bundle(segments, 4);
const HEAD = 72;
const starts = [HEAD]; // Of each frame, then of the end
for (const one of segments) starts.push(starts.at(-1) + 4 + one.length + 16);
function outcome(bytes, options) {
  const { log, error, offset } = readBundle(fromBytes(bytes), options);
  return error ? [error, offset, log?.ops.size ?? 0] : log.ops.size;
}
const bundle = (what, want, bytes, options) => check(`bundle: ${what}`, want, () => outcome(bytes, options));
bundle('whole', 4, whole);
bundle('of nothing', 0, make.bundle([], 0));
bundle('repeated segments', 4, make.bundle([...segments, segments[0]], 6));
bundle('of its mesh', 4, whole, { mesh: make.mesh });
bundle('of another mesh', ['wrong_mesh', 0, 0], whole, { mesh: Buffer.alloc(32) });
bundle('nothing', ['not_a_bundle', 0, 0], Buffer.alloc(0));
bundle('a text', ['not_a_bundle', 0, 0], Buffer.from('meshlog bundles are something else'));
bundle('a short text', ['not_a_bundle', 0, 0], Buffer.from('mesh?'));
bundle('the next version', ['newer_schema', 0, 0], make.bundle(segments, 4, { version: 2 }));
bundle('the next version, of which only that is here', ['newer_schema', 0, 0], make.bundle([], 0, { version: 2 }).subarray(0, 16));
bundle('version 0', ['newer_schema', 0, 0], make.bundle(segments, 4, { version: 0 }));
bundle('a byte too many', ['trailing', whole.length, 4], Buffer.concat([whole, Buffer.of(0)]));
bundle('two bundles', ['trailing', whole.length, 4], Buffer.concat([whole, whole]));
bundle('an op more than announced', ['malformed', starts[3], 4], make.bundle(segments, 3));
bundle('an op fewer than announced', ['malformed', starts[3], 4], make.bundle(segments, 5));
bundle('segments in the wrong order', ['unknown_author', HEAD, 0], make.bundle([...segments].reverse(), 4));
bundle('a segment left out', ['gap', starts[2], 3], make.bundle([segments[0], segments[1], make.segment(bob, [bobThird])], 4));
bundle('a frame of the greatest length', ['truncated', HEAD, 0], Buffer.concat([whole.subarray(0, HEAD), make.length(2167586)]));
bundle('a frame longer than that', ['too_large', HEAD, 0], Buffer.concat([whole.subarray(0, HEAD), make.length(2167587)]));
bundle('a segment of 10 bytes', ['truncated', HEAD, 0], make.bundle([Buffer.alloc(10)], 0));
bundle('a segment of another mesh', ['bad_signature', HEAD, 0], make.bundle(segments, 4, { mesh: Buffer.alloc(32) }));
bundle('two frames exchanged, with their checks', ['malformed', HEAD, 0], Buffer.concat([
  whole.subarray(0, HEAD), whole.subarray(starts[1], starts[2]), whole.subarray(HEAD, starts[1]), whole.subarray(starts[2])]));
bundle('a frame repeated, with its check', ['malformed', starts[1], 2], Buffer.concat([
  whole.subarray(0, starts[1]), whole.subarray(HEAD)]));
bundle('a frame left out', ['malformed', HEAD, 0], Buffer.concat([whole.subarray(0, HEAD), whole.subarray(starts[1])]));

// Cut anywhere, changed anywhere: at each place of the framing, and at every eleventh in the segments.
const framing = (n) => n < HEAD || starts.some((start) => n >= start - 17 && n <= start + 5);
const places = [...whole.keys()].filter((n) => n > 0 && (framing(n) || n % 11 === 0));
const partAt = (offset) => Math.max(0, ...starts.filter((start) => start <= offset));
const taken = (offset) => [0, 2, 3, 4][starts.filter((start) => start <= offset).length - 1] ?? 0;
check('bundle: cut at any place', [], () => {
  const wrong = [];
  for (const n of places) {
    const got = outcome(whole.subarray(0, n)).join();
    if (got !== `truncated,${partAt(n)},${taken(n)}`) wrong.push(`${n}: ${got}`);
  }
  return wrong;
});
check('bundle: one bit changed at any place', [], () => {
  const wrong = [];
  for (const n of places) {
    const changed = Buffer.from(whole);
    changed[n] ^= 1 << n % 8;
    const [code, offset, ops] = outcome(changed);
    const codes = n < 15 ? ['not_a_bundle'] : n === 15 ? ['newer_schema']
      : starts.includes(partAt(n)) && n < partAt(n) + 4 ? ['malformed', 'too_large', 'truncated'] : ['malformed'];
    if (!codes.includes(code) || offset !== partAt(n) || ops !== taken(n)) wrong.push(`${n}: ${code} ${offset} ${ops}`);
  }
  return wrong;
});

totals();
