// fold.mjs FILE - fold every history of a dump anew, and print where the dump has something else (README.md).
//
// FILE is - for the standard input. Exit: 0 all agree, 1 some do not, 2 it could not be compared.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { fold } from './model.mjs';
import { describe } from './records.mjs';

const SHOWN_PER_HISTORY = 20;

const ofState = (hex) => describe(Buffer.from(hex, 'hex'));
const inWords = (entry) => (entry === undefined ? 'nothing' : `${ofState(entry[1])} at ${entry[0]}`);

function* differencesOfRecord(id, model, found) {
  for (let i = 0; i < Math.max(model.length, found.length); i++) {
    if (model[i]?.join() !== found[i]?.join()) {
      yield [`record ${id}, entry ${i}`, inWords(model[i]), inWords(found[i])];
      return; // What follows from it need not be said.
    }
  }
}

function* differences({ ops, records, digest }) {
  const model = fold(ops);
  for (const op of ops) {
    const expected = model.outcomes.get(op.hash) ?? '';
    if (expected !== op.outcome) yield [`outcome of op ${op.id}, kind ${op.kind}`, expected, op.outcome];
  }
  const histories = new Map([...model.records].map(([id, history]) => [id, history.map(([at, state]) => [at, state.toString('hex')])]));
  for (const id of new Set([...histories.keys(), ...Object.keys(records)])) {
    yield* differencesOfRecord(id, histories.get(id) ?? [], records[id] ?? []);
  }
  if (model.digest !== digest) yield ['digest', model.digest, digest];
}

function compare(history) {
  try {
    return [...differences(history)];
  } catch (error) {
    return [['whether it can be folded', 'yes', error.stack]];
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function main(file) {
  const input = file === '-' ? process.stdin : createReadStream(file);
  let histories = 0;
  let opCount = 0;
  let total = 0;
  for await (const line of createInterface({ input })) {
    const history = parsed(line);
    if (history === undefined) {
      console.error(`line ${histories + 1} is not a whole history`);
      return 2;
    }
    const found = compare(history);
    for (const [what, expected, other] of found.slice(0, SHOWN_PER_HISTORY)) {
      console.log(`seed ${history.seed}: ${what}: expected ${expected}, found ${other}`);
    }
    histories++;
    opCount += history.ops.length;
    total += found.length;
  }
  console.log(`${histories} histories, ${opCount} ops, ${total} differences`);
  if (histories === 0) return 2;
  return total === 0 ? 0 : 1;
}

if (process.argv.length !== 3) {
  console.error('usage: fold.mjs FILE');
  process.exitCode = 2;
} else {
  process.exitCode = await main(process.argv[2]);
}
