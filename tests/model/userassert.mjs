// What users assert of records (spec/claims.md).

import { wordsOf } from './claims.mjs';
import { moveOrRefuse } from './machines.mjs';
import { laneOf, setLane } from './settings.mjs';
import { hexOf } from './world.mjs';

const LANE_STATUSES = { allow: 'Allowed', block: 'Blocked', confirm: 'Confirm' };

const ASSERTIONS = {
  claim: ['confirm', 'reject', 'edit', 'pin', 'hide', 'lane'],
  episode: ['confirm', 'reject', 'pin', 'hide'],
  action: ['confirm', 'reject', 'pin', 'hide'],
  evidence: ['hide'],
  artifact: ['hide'],
  entity: ['hide'],
  job: [],
  execution: [],
};

const REJECT_EVENTS = { claim: 'rejected', episode: 'rejected', action: 'overruled' };

function confirm(step, { id, type, state }) {
  step.setStatus(id, moveOrRefuse(type, state.status, 'confirmed', {}));
}

function reject(step, { id, type, state }) {
  const to = moveOrRefuse(type, state.status, REJECT_EVENTS[type], {});
  step.setStatus(id, to, type === 'claim' ? { pinned: false } : {});
}

function edit(step, claim) {
  const to = moveOrRefuse('claim', claim.state.status, 'superseded', { replacement: true, by_user: step.op.user });
  step.setStatus(claim.id, to, { by: step.op.id });
  step.make(step.op.id, 'claim', 'Fact', { byUser: true, number: 1000000, origin: claim.state.origin ?? claim.id });
}

const flag = (name) => (step, { id }) => step.change(id, { [name]: step.op.fields.get('value') ?? true });

function lane(step, claim) {
  const texts = laneOf(wordsOf(step.world, claim));
  if (texts === undefined) step.refuse('no_lane');
  setLane(step, texts, LANE_STATUSES[step.op.fields.get('value')]);
}

const HANDLERS = { confirm, reject, edit, lane, pin: flag('pinned'), hide: flag('hidden') };

// A hash names the op that made the record; or, for equal content is one record, another op with its id, whatever became of it.
function checkHash(step, record) {
  if (!step.op.fields.has('hash')) return;
  const hash = hexOf(step.op.fields.get('hash'));
  const makers = [record.made, ...step.world.evaluated.filter((op) => op.makes === record.id)];
  if (!makers.some((op) => op.hash === hash)) step.refuse('other_content', 'unknown_target');
}

function assert(step, record) {
  checkHash(step, record);
  const word = step.op.fields.get('assert');
  if (!ASSERTIONS[record.type].includes(word)) step.refuse('not_for_type');
  HANDLERS[word](step, record);
}

export const rules = { UserAssert: assert };
