// hostile.mjs - bundles made to mislead a reader, the faults' places, and Ed25519 by itself.

import { ed25519 } from '@noble/curves/ed25519';
import { cases, HEAD, sample, starts, takenAt } from './_cases.mjs';
import { check, totals } from './_check.mjs';
import { bytesOf, mesh } from './_make.mjs';
import { readKey, verify } from './ed25519.mjs';
import { fromBytes, readBundle } from './read-bundle.mjs';

function outcome(bytes, options) {
  const { log, error, offset } = readBundle(fromBytes(bytes), options);
  return { error, ops: log?.ops.size ?? 0, ...(error && { offset }) };
}

for (const { what, error, ops, bytes } of cases) {
  check(what, { error, ops }, () => {
    const { offset, ...rest } = outcome(bytes);
    return rest;
  });
}
check('a bundle of this mesh', { error: null, ops: 4 }, () => outcome(sample, { mesh }));
check('a bundle of another mesh', { error: 'wrong_mesh', ops: 0, offset: 0 }, () => (
  outcome(sample, { mesh: Buffer.alloc(32) })));
check('the place of a byte too many', sample.length, () => outcome(Buffer.concat([sample, sample])).offset);

// Cut anywhere, changed anywhere: at each place of the framing, and at every eleventh in the segments.
const framing = (n) => n < HEAD || starts.some((start) => n >= start - 17 && n <= start + 5);
const places = [...sample.keys()].filter((n) => n > 0 && (framing(n) || n % 11 === 0));
const partAt = (n) => {
  const part = starts.filter((start) => start <= n).length - 1;
  return part < 0 ? { offset: 0, ops: 0 } : { offset: starts[part], ops: takenAt[part] };
};
const faults = (change, codes) => places.map((n) => {
  const { error, offset, ops } = outcome(change(n));
  const part = partAt(n);
  const right = codes(n).includes(error) && offset === part.offset && ops === part.ops;
  return right ? null : `at ${n}: ${error}, offset ${offset}, ${ops} ops`;
}).filter((wrong) => wrong !== null);
check('cut anywhere', [], () => faults((n) => sample.subarray(0, n), () => ['truncated']));
check('one bit changed anywhere', [], () => faults((n) => {
  const changed = Buffer.from(sample);
  changed[n] ^= 1 << n % 8;
  return changed;
}, (n) => {
  if (n < 15) return ['not_a_bundle'];
  if (n === 15) return ['newer_schema'];
  const inLength = n >= HEAD && n < partAt(n).offset + 4;
  return inLength ? ['malformed', 'too_large', 'truncated'] : ['malformed'];
}));

// Ed25519: the mean cases are among the bundles; here its own functions.
const secret = Buffer.alloc(32, 1);
const key = ed25519.getPublicKey(secret);
const message = Buffer.from('message');
const signature = Buffer.from(ed25519.sign(message, secret));
check('a good signature', true, () => verify(signature, message, key));
check('another message', false, () => verify(signature, Buffer.from('messagf'), key));
check('another key', false, () => verify(signature, message, ed25519.getPublicKey(Buffer.alloc(32, 2))));
const zero = Buffer.concat([bytesOf('01' + '00'.repeat(31)), Buffer.alloc(32)]); // R neutral, S 0
for (const [what, bad] of [
  ['the neutral element', '01' + '00'.repeat(31)],
  ['the neutral element with a sign', '01' + '00'.repeat(30) + '80'],
  ['of order 2', 'ec' + 'ff'.repeat(30) + '7f'],
  ['of order 4', '00'.repeat(32)],
  ['of order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
  ['p', 'ed' + 'ff'.repeat(30) + '7f'],
  ['p + 1', 'ee' + 'ff'.repeat(30) + '7f'],
  ['2^255 - 1', 'ff'.repeat(31) + '7f'],
  ['no point', '02' + '00'.repeat(31)],
]) {
  check(`a key that is ${what}`, null, () => readKey(bytesOf(bad)));
  check(`a signature by a key that is ${what}`, false, () => verify(zero, message, bytesOf(bad)));
}

totals();
