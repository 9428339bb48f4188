// The payload of an op: its sections, and the fields in them (spec/op.md, "Payload").

import { decode } from './msgpack.mjs';

export const SECTIONS = ['core', 'geo', 'participants', 'content', 'custom'];
const SECTIONS_MAX = 6;
const SALT = '';

function insist(condition, what) {
  if (!condition) throw new Error(`an op stands whose payload has ${what}`);
}

const isBytes = (value, length) => Buffer.isBuffer(value) && value.length === length;

// Of stored bytes: {sections: name → Map of its fields, withheld: Set of the names of those that are not here}.
export function readPayload(bytes) {
  const array = decode(bytes);
  insist(Array.isArray(array) && array.length >= 1 && array.length <= SECTIONS_MAX, 'another shape');
  const sections = new Map();
  const withheld = new Set();
  array.forEach((section, i) => {
    const name = SECTIONS[i] ?? `section ${i}`;
    if (isBytes(section, 32)) {
      withheld.add(name);
      return;
    }
    insist(section instanceof Map && isBytes(section.get(SALT), 16), 'a section without a salt');
    sections.set(name, new Map([...section].filter(([field]) => field !== SALT)));
  });
  insist(sections.has('core'), 'no core');
  return { sections, withheld };
}

// The fields of all sections in one map, but for those left out.
export function merged(sections, leftOut = []) {
  return new Map([...sections].filter(([name]) => !leftOut.includes(name)).flatMap(([, fields]) => [...fields]));
}
