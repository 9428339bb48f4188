// ucan.mjs - tokens between iso-ucan and the program: what one makes the other judges, and the
// known answers in spec/vectors/ucan.json are judged by both.
//
// iso-ucan alone would be no judge. Where it is known to be wrong, its verdict is kept here too,
// so that a later version that is right is noticed.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EdDSASigner } from 'iso-signatures/signers/eddsa.js';
import * as EdDSA from 'iso-signatures/verifiers/eddsa.js';
import { Resolver } from 'iso-signatures/verifiers/resolver.js';
import { Delegation } from 'iso-ucan/delegation';
import * as Envelope from 'iso-ucan/envelope';
import { Invocation } from 'iso-ucan/invocation';
import { validate } from 'iso-ucan/policy';
import { check, totals } from './_check.mjs';

const NOW = 1767225600;
const folder = mkdtempSync(join(tmpdir(), 'meshlog-ucan-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

// Both sides ----------------------------------------------------------------------------------

const verifierResolver = new Resolver({ ...EdDSA.verifier });
const realNow = Date.now;

// Seeds 1, 2 and 3, repeated, as files for the program and as signers of iso-ucan.
const people = {};
for (const [i, name] of ['alice', 'bob', 'carol'].entries()) {
  const seed = Buffer.alloc(32, i + 1);
  const file = join(folder, name);
  writeFileSync(file, seed.toString('hex'), { mode: 0o600 });
  const signer = await EdDSASigner.generate(new Uint8Array(seed));
  people[name] = { file, signer, did: signer.did };
}
const { alice, bob, carol } = people;

function meshlog(...args) {
  const { stdout, stderr } = spawnSync(process.env.MESHLOG, ['--json', 'ucan', ...args], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const base64 = (bytes) => Buffer.from(bytes).toString('base64');
const unbase64 = (text) => new Uint8Array(Buffer.from(text, 'base64'));

// What the program makes of it: the token's bytes.
function mint(by, args) {
  const options = Object.entries(args).flatMap(([name, value]) => (
    [value].flat().flatMap((one) => (one === true ? [`--${name}`] : [`--${name}`, one]))));
  const { token, message } = meshlog('mint', '--key', by.file, ...options);
  if (token === undefined) throw new Error(message);
  return unbase64(token);
}

// The program's verdict: its error, null where it allows.
function judge({ call, proofs }, time = NOW, revoked = []) {
  const { error, link } = meshlog(
    'check', '--time', String(time), '--invocation', base64(call),
    ...proofs.flatMap((proof) => ['--proof', base64(proof)]),
    ...revoked.flatMap((cid) => ['--revoked', cid]),
  );
  return error === null ? null : `${error} ${link}`;
}

// The name of a token: the CID of its bytes as they are, whatever iso-ucan would write.
function cidOf(bytes) {
  const digest = createHash('sha256').update(bytes).digest();
  const letters = 'abcdefghijklmnopqrstuvwxyz234567';
  const bits = [...Buffer.concat([Buffer.from([1, 0x71, 0x12, 0x20]), digest])]
    .map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return `b${bits.match(/.{1,5}/g).map((five) => letters[parseInt(five.padEnd(5, '0'), 2)]).join('')}`;
}

// iso-ucan's verdict: does it allow? Its clock is set, as it does not take the time everywhere.
async function isoAllows({ call, proofs }, time = NOW, revoked = []) {
  Date.now = () => time * 1000;
  const options = { verifierResolver, now: time, isRevoked: async (cid) => revoked.includes(cid.toString()) };
  const resolveProof = async (cid) => {
    const bytes = proofs.find((proof) => cidOf(proof) === cid.toString());
    if (bytes === undefined) throw new Error('it is not here');
    return Delegation.from({ ...options, bytes });
  };
  try {
    await Invocation.from({ ...options, bytes: call, resolveProof });
    return true;
  } catch {
    return false;
  } finally {
    Date.now = realNow;
  }
}

async function both(what, chain, iso, ours, ...rest) {
  const got = await isoAllows(chain, ...rest);
  check(`iso-ucan: ${what}`, iso, () => got);
  check(`the program: ${what}`, ours, () => judge(chain, ...rest));
}

// A chain of two links: alice → bob → carol, who invokes ----------------------------------------

const WORK = [['==', '.lane', 'work']];
const NAMED = [['like', '.name', 'a*'], ['any', '.tags', ['==', '.', 'new']]];
const ARGS = { lane: 'work', name: 'ada', tags: ['old', 'new'] };

// Made by the program. `change` replaces options of one link: root, leaf, call.
function ofProgram(change = {}) {
  const about = { sub: alice.did, exp: String(NOW + 60) };
  const root = mint(alice, { ...about, aud: bob.did, cmd: '/log', policy: JSON.stringify(WORK), ...change.root });
  const leaf = mint(bob, { ...about, aud: carol.did, cmd: '/log/append', policy: JSON.stringify(NAMED), nbf: String(NOW - 60), ...change.leaf });
  const proof = [base64(root), base64(leaf)];
  const call = mint(carol, { ...about, cmd: '/log/append', invocation: true, args: JSON.stringify(ARGS), proof, ...change.call });
  return { call, proofs: [root, leaf] };
}

// Sign and write a token as iso-ucan does, but without its checks.
async function sign(by, spec, payload, version = '1.0.0-rc.1') {
  return Envelope.encode(await Envelope.sign({ spec, version, signer: by.signer, payload }));
}

// Made by iso-ucan, likewise. Links are changed in their payloads; `tag` is their version.
async function ofIso(change = {}) {
  const nonce = new Uint8Array(12).fill(7);
  const about = { sub: alice.did, exp: NOW + 60, nonce };
  const delegation = (by, payload, { tag, ...changed } = {}) => (
    sign(by, 'dlg', { iss: by.did, ...about, ...payload, ...changed }, tag));
  const root = await delegation(alice, { aud: bob.did, cmd: '/log', pol: WORK }, change.root);
  const leaf = await delegation(bob, { aud: carol.did, cmd: '/log/append', pol: NAMED, nbf: NOW - 60 }, change.leaf);
  const { tag, ...changed } = change.call ?? {};
  Date.now = () => (NOW - 30) * 1000;
  const made = await Promise.all([root, leaf].map((bytes) => Delegation.from({ bytes, verifierResolver, now: 0 })));
  Date.now = realNow;
  const call = await sign(carol, 'inv', {
    iss: carol.did, ...about, cmd: '/log/append', args: ARGS, prf: made.map(({ cid }) => cid), ...changed,
  }, tag);
  return { call, proofs: [root, leaf] };
}

// The bytes with one bit of the signature changed.
function bent(bytes) {
  const changed = Uint8Array.from(bytes);
  changed[20] ^= 4;
  return changed;
}

const good = ofProgram();
await both('a chain of the program', good, true, null);
await both('its end', good, true, null, NOW + 60);
await both('after its end', good, false, 'Expired 0', NOW + 61);
await both('its beginning', good, true, null, NOW - 60);
await both('before its beginning', good, false, 'TooEarly 1', NOW - 61);
await both('without its root', { ...good, proofs: good.proofs.slice(1) }, false, 'UnavailableProof 0');
await both('a revoked root', good, false, 'Revoked 0', NOW, [cidOf(good.proofs[0])]);
await both('an expired link', ofProgram({ leaf: { exp: String(NOW - 1) } }), false, 'Expired 1');
await both('a widened link', ofProgram({ leaf: { cmd: '/' } }), false, 'InvalidCommand 1');
await both('a widened invocation', ofProgram({ call: { cmd: '/' } }), false, 'InvalidCommand 0');
await both('another lane', ofProgram({ call: { args: '{"lane":"home","name":"ada","tags":["new"]}' } }), false, 'MatchError 0');
await both('another name', ofProgram({ call: { args: '{"lane":"work","name":"eve","tags":["new"]}' } }), false, 'MatchError 1');
await both('another audience', ofProgram({ leaf: { aud: alice.did } }), false, 'InvalidAudience 1');
await both('another subject', ofProgram({ leaf: { sub: bob.did } }), false, 'InvalidSubject 1');
await both('a powerline', ofProgram({ leaf: { sub: 'null' } }), true, null);
await both('a tampered invocation', { ...good, call: bent(good.call) }, false, 'InvalidSignature null');

const theirs = await ofIso();
await both('a chain of iso-ucan', theirs, true, null);
await both('one of the final version', await ofIso({ root: { tag: '1.0.0' }, leaf: { tag: '1.0.0' }, call: { tag: '1.0.0' } }), true, null);
await both('one that has expired', await ofIso({ root: { exp: NOW - 1 } }), false, 'Expired 0');
await both('one that is widened', await ofIso({ leaf: { cmd: '/' } }), false, 'InvalidCommand 1');
await both('one that is tampered with', { ...theirs, call: bent(theirs.call) }, false, 'InvalidSignature null');
await both('one that breaks a policy', await ofIso({ call: { args: {} } }), false, 'MatchError 0');

// What the checked constructors of iso-ucan make, nonces and all.
{
  const root = await Delegation.create({ iss: alice.signer, aud: bob.did, sub: alice.did, cmd: '/log', pol: WORK, exp: null, meta: { a: [1, -1, 1.5, null, true, 'é', new Uint8Array([1, 2])] } });
  const leaf = await Delegation.create({ iss: bob.signer, aud: carol.did, sub: null, cmd: '/log/append', pol: NAMED, exp: null, nbf: NOW });
  const made = await Invocation.create({ iss: carol.signer, aud: bob.did, sub: alice.did, cmd: '/log/append', args: ARGS, prf: [root, leaf], exp: null, iat: NOW, verifierResolver });
  await both('what iso-ucan itself makes', { call: made.bytes, proofs: [root.bytes, leaf.bytes] }, true, null);
  const { cid, meta, nbf, sub } = meshlog('inspect', base64(root.bytes));
  check('its name', root.cid.toString(), () => cid);
  check('its meta', { meta: { a: [1, -1, 1.5, null, true, 'é', { '/': { bytes: 'AQI' } }] }, nbf: null, sub: alice.did }, () => ({ meta, nbf, sub }));
  const { iat, aud, prf } = meshlog('inspect', base64(made.bytes));
  check('what an invocation says', { iat: NOW, aud: bob.did, prf: [root, leaf].map((one) => one.cid.toString()) }, () => ({ iat, aud, prf }));
}

// The same bytes: what the program made, read by iso-ucan and signed again by it.
for (const [i, bytes] of [...good.proofs, good.call].entries()) {
  const { payload, spec, version } = Envelope.decode({ envelope: bytes });
  const again = await sign([alice, bob, carol][i], spec, payload, version);
  check(`the bytes of token ${i}`, base64(bytes), () => base64(again));
}

// Where iso-ucan is wrong -----------------------------------------------------------------------

// 1. Commands are compared as texts: the beginning of a word is not a segment.
await both('a part of a word', ofProgram({ call: { cmd: '/log/appendix' } }), true, 'InvalidCommand 1');

// 2. Any version of a tag is read.
await both('an unknown version', await ofIso({ root: { tag: '9.9.9' } }), true, 'Malformed 0');

// 3. A token is written anew before it is verified, so that fields out of order pass.
function swapped(bytes) {
  const at = Buffer.from(bytes).indexOf('cmd') - 1;
  const end = Buffer.from(bytes).indexOf('exp') - 1;
  const next = Buffer.from(bytes).indexOf('iss') - 1;
  return Uint8Array.from([...bytes.slice(0, at), ...bytes.slice(end, next), ...bytes.slice(at, end), ...bytes.slice(next)]);
}
await both('fields out of order', { ...good, call: swapped(good.call) }, true, 'Malformed null');

// 4. Policies are not checked when they are read: what is no statement is false, and so true
// under `not`.
await both('a statement that is none', await ofIso({ leaf: { pol: [['not', ['=', '.lane', 'work']]] } }), true, 'Malformed 1');
{
  const bytes = await sign(alice, 'dlg', {
    iss: alice.did, aud: bob.did, sub: alice.did, cmd: '/log', pol: 'none', exp: null, nonce: new Uint8Array(12),
  });
  const read = await Delegation.from({ bytes, verifierResolver }).then(() => true, () => false);
  check('iso-ucan: a policy that is none', true, () => read);
  check('the program: a policy that is none', 'malformed', () => meshlog('inspect', base64(bytes)).error);
}

// Nested quantifiers, a missing key (null) and a missing index that is optional (null).
const mails = (...names) => ({ recipients: names.map((email) => ({ email })) });
const each = [['all', '.letters', ['any', '.recipients', ['==', '.email', 'b']]]];
for (const [policy, args, iso, ours] of [
  [each, { letters: [mails('a', 'b'), mails('b')] }, false, true],
  [each, { letters: { x: mails('a', 'b'), y: mails('b') } }, false, true],
  [each, { letters: [mails('a'), mails('b')] }, false, false],
  [[['any', '.a', ['all', '.b', ['>', '.', 0]]]], { a: [{ b: [1, 0] }, { b: [1, 2] }] }, false, true],
  [[['==', '.x', null]], {}, false, true],
  [[['!=', '.x', 1]], {}, false, true],
  [[['==', '.a[9]?', null]], { a: [1] }, false, true],
  [[['==', '.a[9]', null]], { a: [1] }, false, false],
  [[['==', '.x.y', null]], {}, false, false],
  [[['not', ['==', '.x.y', 1]]], {}, true, true],
  [[['or', []]], {}, true, true],
  [[['any', '.a', ['>', '.', 0]]], { a: [] }, true, true],
  [[['all', '.a', ['>', '.b', 0]]], { a: [{ b: 1 }, { z: 2 }] }, false, false],
  [[['like', '.a', 'a\\*b*']], { a: 'a*bc' }, true, true],
  [[['like', '.a', 'a\\*b*']], { a: 'axbc' }, false, false],
  [[['==', '.a[-2:]', [2, 3]]], { a: [1, 2, 3] }, true, true],
  [[['==', '.a', 1.0]], { a: 1 }, true, true],
]) {
  const what = `${JSON.stringify(policy)} for ${JSON.stringify(args)}`;
  check(`iso-ucan: ${what}`, iso, () => validate(args, policy));
  check(`the program: ${what}`, ours, () => (
    meshlog('policy', '--policy', JSON.stringify(policy), '--args', JSON.stringify(args)).match));
}

// An invocation's own end is compared with the clock, whatever time is asked about.
{
  Date.now = () => (NOW + 61) * 1000;
  const held = await Invocation.from({ bytes: good.call, verifierResolver, now: NOW }).then(() => true, ({ message }) => message);
  Date.now = realNow;
  check('iso-ucan: the time of an invocation', true, () => /expiration must be in the future/.test(held));
  check('the program: the time of an invocation', null, () => judge(good, NOW));
}

// The known answers ------------------------------------------------------------------------------

// Where the two differ, and why.
const ISO_ALLOWS = new Set([
  'prefix-of-word', 'prefix-of-segment', 'prefix-of-child', // Above: 1.
  'unknown-tag', 'unknown-invocation', // 2.
  'too-long', // A limit of ours.
  'further-field', 'nbf-of-invocation', // It passes over fields that it does not know.
  'revoked-invocation', // It asks for delegations only.
]);
const ISO_REFUSES = new Set([
  'missing-is-null', // 4.
  'powerline-of-all', // It takes a powerline for a wider child; the specification has this chain as its example.
]);
const path = new URL('../../spec/vectors/ucan.json', import.meta.url);
for (const { name, invocation, proofs, time, revoked, error, link } of JSON.parse(readFileSync(path))) {
  const chain = { call: unbase64(invocation), proofs: proofs.map(unbase64) };
  const allowed = (error === null || ISO_ALLOWS.has(name)) && !ISO_REFUSES.has(name);
  await both(name, chain, allowed, error === null ? null : `${error} ${link}`, time, revoked);
}

totals();
