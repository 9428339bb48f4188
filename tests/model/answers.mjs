// Known answers: hashes, msgpack, what is read from the chapters, states, ids, the digest.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { blake2b } from './blake2b.mjs';
import { FIELDS, KIND_NAMES, MACHINES, TARGET_FIELDS } from './chapters.mjs';
import { same } from './check.mjs';
import { decode, encode } from './msgpack.mjs';
import { describe, digestOf, keyedId, NOTHING, pack, settingId } from './records.mjs';

const hex = (text) => Buffer.from(text, 'hex');

// Hashes.

const abc = Buffer.from('abc');
same('BLAKE2b-256 of abc', blake2b(abc).toString('hex'), 'bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319');
same('BLAKE2b-256 of nothing', blake2b(Buffer.alloc(0)).toString('hex'), '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8');
const long = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));
same('BLAKE2b-512 of every length to 400', Array.from({ length: 401 }, (_, n) => n).filter((n) => (
  blake2b(long.subarray(0, n), 64).toString('hex') !== createHash('blake2b512').update(long.subarray(0, n)).digest('hex'))), []);

// msgpack.

function readAndWrite(bytes) {
  try {
    return encode(decode(bytes)).toString('hex');
  } catch (error) {
    return error.message.replace(/:.*/, '');
  }
}

const vectors = JSON.parse(readFileSync(new URL('../../spec/vectors/values.json', import.meta.url)));
for (const { why, msgpack, error } of vectors) same(`value: ${why}`, readAndWrite(hex(msgpack)), error ?? msgpack);

// The chapters.

same('kinds', KIND_NAMES.size, 35);
same('kinds with fields', FIELDS.size, 30);
same('fields of a claim', FIELDS.get('CreateClaim').map(({ name, optional }) => name + (optional ? '?' : '')).join(' '),
  'subject? predicate? object? text? domain? confidence? supports? created_by?');
same('kinds with a target', [TARGET_FIELDS.size, TARGET_FIELDS.get('UserAssert'), TARGET_FIELDS.get('CancelJob')], [20, 'about', 'job']);
same('machines', [...MACHINES.keys()], ['claim', 'episode', 'action', 'job', 'execution']);
same('the first move of a claim', MACHINES.get('claim')[0],
  { from: '[*]', event: 'created', to: 'Claim', guards: ['supported', 'above_threshold', 'may_surface'] });

// States, ids, the digest.

const ID = '000000000001000000000000000000aa';
const full = {
  ...NOTHING, type: 'claim', status: 'Superseded', pinned: true, cascaded: true, by: ID, origin: ID, number: 258, until: 3, maker: ID };
same('a state with everything', pack(full).toString('hex'), `0305091f${ID}${ID}000001020000000000000003${ID}`);
same('a state with nothing', pack({ ...NOTHING, type: 'coordinator', status: 'Set' }).toString('hex'), '0d000000');
same('a state in words', describe(pack(full)), `claim Superseded pinned cascaded by=${ID} origin=${ID} number=258 until=3 maker=${ID}`);

const ascii = (text) => Buffer.from(text, 'latin1');
const first16 = (text) => (BigInt(`0x${blake2b(ascii(text)).toString('hex', 0, 16)}`) | 1n << 127n).toString(16);
same('the id of a lane', settingId('lane', 'ann', 'likes'), first16('meshlog setting 1\x0a\0\0\0\x03ann\0\0\0\x05likes'));
same('the id of the coordinator', settingId('coordinator'), first16('meshlog setting 1\x0d'));
same('a keyed id', keyedId(22, new Map([['text', 'x'], ['idempotency_key', 'k']])),
  first16('meshlog record 1\0\0\0\x16\x82\xafidempotency_key\xa1k\xa4text\xa1x'));
const one = { id: ID, version: ID, state: hex('01000000') };
const hashOfOne = blake2b(Buffer.concat([ascii('meshlog state 1'), hex(ID + ID), one.state]));
same('the digest of one record', digestOf([one]), hashOfOne.toString('hex'));
const littleEndian = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
same('the digest of three', `${littleEndian(hex(digestOf([one, one, one])))}`, `${BigInt.asUintN(256, 3n * littleEndian(hashOfOne))}`);
