// The records as the ops so far have left them, and what one op is about to change.

import { NOTHING, SETTINGS } from './records.mjs';
import { Refusal } from './refusal.mjs';

const SUPPORTED_KINDS = ['CreateClaim', 'CreateEpisode', 'CreateSuggestedAction', 'CreateArtifact'];
export const SUPPORT_TYPES = ['evidence', 'claim', 'episode', 'artifact'];
const INVALID = ['evidence Tombstoned', 'claim Rejected', 'claim Stale', 'episode Stale', 'artifact Stale', 'artifact Evicted'];

export const hexOf = (bytes) => bytes.toString('hex');

export const isInvalid = ({ type, status }) => INVALID.includes(`${type} ${status}`);

// What the record that an op makes rests on.
export function supportsOf(op) {
  return SUPPORTED_KINDS.includes(op.kindName) ? (op.fields.get('supports') ?? []).map(hexOf) : [];
}

export class World {
  constructor(logIds) {
    this.logIds = logIds;
    this.records = new Map();
    this.evaluated = []; // The folded ops so far, each with its outcome.
  }

  // A record: {id, type, made: the op that made it, history: [{at, state}], state: the last of these}.
  record(id) {
    return this.records.get(id);
  }

  isOpBefore(id, op) {
    return this.logIds.has(id) && id < op.id;
  }

  // The rule for an op that names a record which does not exist.
  whyNone(id, op) {
    return this.isOpBefore(id, op) ? 'target_void' : 'no_target';
  }

  isValid(id) {
    const record = this.record(id);
    return record !== undefined && !isInvalid(record.state);
  }

  areValid(ids) {
    return ids.every((id) => this.isValid(id));
  }
}

export class Step {
  constructor(world, op) {
    this.world = world;
    this.op = op;
    this.changes = new Map(); // Of a record's id: {state, made: is it new, always: also if nothing is other than before}.
  }

  refuse(rule, reason = 'fsm') {
    throw new Refusal(reason, rule);
  }

  exists(id) {
    return this.changes.has(id) || this.world.record(id) !== undefined;
  }

  // As it is with what this op has changed so far.
  state(id) {
    return (this.changes.get(id) ?? this.world.record(id)).state;
  }

  make(id, type, status, more = {}) {
    const maker = id === this.op.id || SETTINGS.includes(type) ? null : this.op.id;
    this.changes.set(id, { state: { ...NOTHING, type, status, maker, ...more }, made: true, always: true });
  }

  change(id, more, { always = false } = {}) {
    const made = this.changes.get(id)?.made ?? false;
    this.changes.set(id, { state: { ...this.state(id), ...more, cascaded: false }, made, always: made || always });
  }

  makeOrChange(id, type, status, more = {}) {
    if (this.exists(id)) this.change(id, { status, ...more });
    else this.make(id, type, status, more);
  }

  // Of a claim, an episode or an action: a status, and who says so.
  setStatus(id, status, more = {}) {
    this.change(id, { status, byUser: this.op.user, ...more });
  }
}
