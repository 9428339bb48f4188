// Small logs written by hand, for selftest.mjs.

import { blake2b } from './blake2b.mjs';
import { KIND_NAMES } from './chapters.mjs';
import { fold } from './model.mjs';
import { encode } from './msgpack.mjs';
import { SECTIONS } from './payload.mjs';
import { describe } from './records.mjs';

const KIND_NUMBERS = new Map([...KIND_NAMES].map(([number, name]) => [name, number]));
const STEP_MS = 1000;
const hash256 = (text) => blake2b(Buffer.from(text));

// Numbers are whole ones, an op means its id, an object a map.
function toValue(value) {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(toValue);
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value)) return value;
  if ('hash' in value) return Buffer.from(value.id, 'hex');
  return toMap(value);
}

const toMap = (object) => new Map(Object.entries(object).map(([name, value]) => [name, toValue(value)]));

// The bytes of a payload with these fields; instead of the sections named in `withheld` their hashes.
function payloadOf(fields, withheld, salt) {
  const sectionOf = (name) => Math.max(0, SECTIONS.indexOf(name));
  const last = Math.max(0, ...Object.keys(fields).map(sectionOf));
  return encode(SECTIONS.slice(0, last + 1).map((name, i) => {
    const own = Object.entries(fields).filter(([field]) => sectionOf(field) === i);
    const section = new Map([['', salt], ...toMap(Object.fromEntries(own))]);
    return withheld.includes(name) ? blake2b(encode(section)) : section;
  }));
}

export class Story {
  #clock = 1000;

  constructor() {
    this.ops = [];
  }

  // Append an op. `by` is its author, who is user-bearing if it is 'user'. It is STEP_MS later than the one before, or at `at`.
  op(by, kindName, fields, { at = this.#clock + STEP_MS, withheld = [], stands = true, id } = {}) {
    this.#clock = at;
    const serial = this.ops.length;
    const op = {
      id: id ?? `${at.toString(16).padStart(12, '0')}${serial.toString(16).padStart(4, '0')}${hash256(by).toString('hex', 0, 8)}`,
      hash: hash256(`op ${serial}`).toString('hex'),
      kind: KIND_NUMBERS.get(kindName),
      author: hash256(by).toString('hex'),
      payload: payloadOf(fields, withheld, Buffer.alloc(16, serial)).toString('hex'),
      payload_state: withheld.length > 0 ? 'redacted' : 'full',
      stands,
      user: by === 'user',
    };
    this.ops.push(op);
    return op;
  }

  user(kindName, fields, options) {
    return this.op('user', kindName, fields, options);
  }

  machine(kindName, fields, options) {
    return this.op('machine', kindName, fields, options);
  }

  assert(word, about, more = {}) {
    return this.user('UserAssert', { about, assert: word, ...more });
  }

  outcome(op) {
    return fold(this.ops).outcomes.get(op.hash) ?? '';
  }

  // What a record, given as the op that made it or by its id, is now.
  now(record) {
    return this.history(record).at(-1)?.replace(/ @.*/, '') ?? 'none';
  }

  // Its states, each with the number of the op in the story that left it.
  history(record) {
    const entries = fold(this.ops).records.get(record.id ?? record) ?? [];
    return entries.map(([at, state]) => `${describe(state)} @${this.ops.findIndex((op) => op.id === at)}`);
  }
}
