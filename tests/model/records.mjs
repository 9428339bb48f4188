// Records: their types, statuses, ids, and the bytes of their states (spec/folds.md, "Records").
//
// A state is an object {type, status, pinned, hidden, byUser, cascaded, by, origin, number, until, maker}: type and status
// by name, ids as 32 hex digits, what is not there as null or 0.

import { blake2b } from './blake2b.mjs';
import { encode } from './msgpack.mjs';

const STATUSES = new Map(Object.entries({
  evidence: 'Present Tombstoned',
  entity: 'Present',
  claim: 'Hint Claim Fact Disputed Rejected Superseded Stale',
  episode: 'Active Stale Archived',
  action: 'Proposed Approved Executing Completed Failed Rejected Dismissed Expired',
  artifact: 'Fresh Stale Evicted',
  job: 'Pending Claimed Completed Failed Cancelled',
  execution: 'LEASED IN_PROGRESS COMMITTED DONE ABORTED',
  rule: 'Set',
  lane: 'Allowed Blocked Confirm',
  route: 'Set',
  serial: 'Free Busy',
  coordinator: 'Set',
}).map(([type, statuses]) => [type, statuses.split(' ')]));

const TYPES = [...STATUSES.keys()];
export const SETTINGS = ['rule', 'lane', 'route', 'serial', 'coordinator'];

export const NOTHING = {
  pinned: false, hidden: false, byUser: false, cascaded: false, by: null, origin: null, number: 0, until: 0, maker: null,
};

const FLAGS = [['pinned', 1], ['hidden', 2], ['byUser', 4], ['cascaded', 8]];

// In the order in which they follow the first four bytes.
const FURTHER = [['by', 1, 16], ['origin', 2, 16], ['number', 4, 4], ['until', 8, 8], ['maker', 16, 16]];

function numberBytes(n, length) {
  return Buffer.from(BigInt(n).toString(16).padStart(2 * length, '0'), 'hex');
}

export function pack(state) {
  const flags = FLAGS.reduce((sum, [name, bit]) => sum + (state[name] ? bit : 0), 0);
  const status = STATUSES.get(state.type).indexOf(state.status);
  if (status < 0) throw new Error(`no status ${state.status} of ${state.type}`);
  let has = 0;
  const further = [];
  for (const [name, bit, length] of FURTHER) {
    const value = state[name];
    const bytes = typeof value === 'string' ? Buffer.from(value, 'hex') : numberBytes(value ?? 0, length);
    if (bytes.some((byte) => byte !== 0)) {
      has += bit;
      further.push(bytes);
    }
  }
  return Buffer.concat([Buffer.from([TYPES.indexOf(state.type) + 1, status, flags, has]), ...further]);
}

// A packed state for people to read, also one that is not as it should be.
export function describe(bytes) {
  const [typeNumber, statusNumber, flags, has] = bytes;
  const type = TYPES[typeNumber - 1] ?? `type ${typeNumber}`;
  const words = [type, STATUSES.get(type)?.[statusNumber] ?? `status ${statusNumber}`];
  words.push(...FLAGS.filter(([, bit]) => flags & bit).map(([name]) => name));
  let at = 4;
  for (const [name, bit, length] of FURTHER) {
    if (has & bit) {
      const hex = bytes.subarray(at, at + length).toString('hex');
      words.push(`${name}=${length === 16 ? hex : BigInt(`0x${hex || 0}`)}`);
      at += length;
    }
  }
  return words.join(' ');
}

function id16(...parts) {
  const id = Buffer.from(blake2b(Buffer.concat(parts)).subarray(0, 16));
  id[0] |= 0x80;
  return id.toString('hex');
}

export function settingId(type, ...texts) {
  const parts = texts.flatMap((text) => [numberBytes(Buffer.byteLength(text), 4), Buffer.from(text)]);
  return id16(Buffer.from('meshlog setting 1'), Buffer.from([TYPES.indexOf(type) + 1]), ...parts);
}

export function keyedId(kind, fields) {
  return id16(Buffer.from('meshlog record 1'), numberBytes(kind, 4), encode(fields));
}

// Of [{id, version, state: packed}].
export function digestOf(records) {
  let sum = 0n;
  for (const { id, version, state } of records) {
    const hash = blake2b(Buffer.concat([
      Buffer.from('meshlog state 1'), Buffer.from(id, 'hex'), Buffer.from(version, 'hex'), state]));
    sum += BigInt(`0x${Buffer.from(hash).reverse().toString('hex')}`);
  }
  return numberBytes(BigInt.asUintN(256, sum), 32).reverse().toString('hex');
}
