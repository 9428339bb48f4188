// The fold of spec/folds.md, slow and obvious: the folded ops in ascending position, each evaluated once against plain
// maps; a cascade is a walk over all records.

import { KIND_NAMES, MACHINES, TARGET_FIELDS } from './chapters.mjs';
import * as claims from './claims.mjs';
import * as episodes from './episodes.mjs';
import * as jobs from './jobs.mjs';
import * as knowledge from './knowledge.mjs';
import { move } from './machines.mjs';
import { merged, readPayload } from './payload.mjs';
import { digestOf, keyedId, pack } from './records.mjs';
import { Refusal } from './refusal.mjs';
import { fits, isKeyed } from './schema.mjs';
import * as settings from './settings.mjs';
import * as userAssert from './userassert.mjs';
import { hexOf, isInvalid, Step, supportsOf, SUPPORT_TYPES, World } from './world.mjs';

const RULES = { ...knowledge.rules, ...claims.rules, ...episodes.rules, ...userAssert.rules, ...settings.rules, ...jobs.rules };

// Kinds that do nothing but make a record, so that one which exists is left as it is.
const CREATIONS = [
  'IngestEvidence', 'CreateEntity', 'CreateClaim', 'CreateEpisode', 'CreateSuggestedAction', 'CreateArtifact', 'ScheduleJob'];

// Of the record that a kind is about, by the field that names it.
const TARGET_TYPES = {
  evidence: ['evidence'],
  entity: ['entity'],
  claim: ['claim'],
  episode: ['episode'],
  action: ['action'],
  artifact: ['artifact'],
  job: ['job'],
  about: ['evidence', 'entity', 'claim', 'episode', 'action', 'artifact', 'job', 'execution'],
};

// Kinds that cannot do without their section `content`, if they have one.
const CONTENT_KINDS = ['IngestEvidence', 'CreateArtifact'];

const FOLD_VERSION = 1;

// Reasons to wait; for all others an op is rejected.
const PENDING = ['payload_absent', 'version_unknown'];

const isFolded = ({ stands, kind }) => stands && ((kind >= 3 && kind <= 5) || kind >= 16);

// An op of the dump with what the rules read of it.
function prepared(op) {
  const kindName = KIND_NAMES.get(op.kind);
  const { sections, withheld } = readPayload(Buffer.from(op.payload, 'hex'));
  const fields = merged(sections);
  return { ...op, kindName, sections, withheld, fields, time: parseInt(op.id.slice(0, 12), 16) };
}

// The id of the record that a creation makes.
function recordIdOf(op) {
  if (!isKeyed(op.kindName, op.fields)) return op.id;
  return keyedId(op.kind, merged(op.sections, ['geo', 'participants', 'custom']));
}

function findTarget(world, op) {
  const field = TARGET_FIELDS.get(op.kindName);
  if (field === undefined) return undefined;
  const id = hexOf(op.fields.get(field));
  const target = world.record(id);
  if (target === undefined) throw new Refusal('unknown_target', world.whyNone(id, op));
  if (!TARGET_TYPES[field].includes(target.type)) throw new Refusal('unknown_target', 'wrong_type');
  return target;
}

function checkVersion(world, op, target) {
  if (!op.fields.has('if_version')) return;
  const version = hexOf(op.fields.get('if_version'));
  if (version >= op.id || !target.history.some(({ at }) => at === version)) throw new Refusal('stale_version', 'version_gone');
  const isTaken = world.evaluated.some((other) => other.outcome === 'applied' && other.target === target.id
    && other.fields.has('if_version') && hexOf(other.fields.get('if_version')) === version);
  if (isTaken) throw new Refusal('stale_version', 'version_taken');
}

function checkSupports(world, op) {
  for (const id of supportsOf(op)) {
    const record = world.record(id);
    if (record === undefined && !world.isOpBefore(id, op)) throw new Refusal('unknown_target', 'support_missing');
    if (record !== undefined && !SUPPORT_TYPES.includes(record.type)) throw new Refusal('unknown_target', 'support_type');
  }
}

function judge(world, op, step) {
  if (settings.foldVersion(world) !== FOLD_VERSION) throw new Refusal('version_unknown');
  const needsContent = CONTENT_KINDS.includes(op.kindName) || isKeyed(op.kindName, op.fields);
  if (op.withheld.has('content') && needsContent) throw new Refusal('payload_absent');
  if (!fits(op.kindName, op.fields)) throw new Refusal('schema');
  if (CREATIONS.includes(op.kindName)) op.makes = recordIdOf(op);
  const target = findTarget(world, op);
  op.target = target?.id;
  if (target !== undefined) checkVersion(world, op, target);
  checkSupports(world, op);
  if (op.makes !== undefined && world.record(op.makes) !== undefined) return;
  RULES[op.kindName](step, target);
}

const isLeftAsItWas = (before, after) => (
  ['status', 'pinned', 'hidden', 'byUser', 'number', 'by', 'origin', 'until'].every((name) => before[name] === after[name]));

// The entries that the op itself leaves. Returns the records that they invalidate.
function leaveEntries(world, { op, changes }) {
  const fallen = new Set();
  for (const [id, { state, made, always }] of changes) {
    if (made) {
      world.records.set(id, { id, type: state.type, made: op, history: [{ at: op.id, state }], state });
      continue;
    }
    const record = world.record(id);
    if (!always && isLeftAsItWas(record.state, state)) {
      changes.delete(id);
      continue;
    }
    if (isInvalid(state) && !isInvalid(record.state)) fallen.add(id);
    record.history.push({ at: op.id, state });
    record.state = state;
  }
  return fallen;
}

const byMaking = (a, b) => (a.made.id < b.made.id ? -1 : 1);

function whereItFalls(record, event) {
  if (record.type === 'artifact') return record.state.status === 'Fresh' ? 'Stale' : undefined;
  return MACHINES.has(record.type) ? move(record.type, record.state.status, event).to : undefined;
}

// Supports are made before what rests on them, so one walk in the order of making finds all that falls.
function cascade(world, { op, changes }, fallen) {
  const event = op.kindName === 'TombstoneEvidence' && op.user ? 'invalidated_by_user' : 'invalidated';
  const others = [...world.records.values()].filter((record) => record.made.id < op.id && !changes.has(record.id)).sort(byMaking);
  for (const record of others) {
    const restsOn = supportsOf(record.made).filter((id) => fallen.has(id) && world.record(id).made.id < record.made.id);
    const status = restsOn.length > 0 ? whereItFalls(record, event) : undefined;
    if (status === undefined) continue;
    const state = { ...record.state, status, byUser: false, cascaded: true };
    if (isInvalid(state) && !isInvalid(record.state)) fallen.add(record.id);
    record.history.push({ at: op.id, state });
    record.state = state;
  }
}

function evaluate(world, op) {
  const step = new Step(world, op);
  try {
    judge(world, op, step);
    op.outcome = 'applied';
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    op.outcome = `${PENDING.includes(refusal.message) ? 'pending' : 'rejected'} ${refusal.message}`;
    if (!refusal.kept) step.changes.clear();
  }
  world.evaluated.push(op);
  cascade(world, step, leaveEntries(world, step));
}

const ascending = (a, b) => (a.id < b.id ? -1 : 1);

// Of all ops of a log, as the dump has them: {outcomes: of an op's hash → text, records: id → [[at, packed state]…], digest}.
export function fold(ops) {
  const world = new World(new Set(ops.map((op) => op.id)));
  const folded = ops.filter(isFolded).map(prepared).sort(ascending);
  for (const op of folded) evaluate(world, op);

  const records = new Map([...world.records.values()].map(({ id, history }) => [id, history.map(({ at, state }) => [at, pack(state)])]));
  return {
    outcomes: new Map(world.evaluated.map((op) => [op.hash, op.outcome])),
    records,
    digest: digestOf([...records].map(([id, history]) => {
      const [version, state] = history.at(-1);
      return { id, version, state };
    })),
  };
}
