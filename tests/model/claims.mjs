// What ops do to claims (spec/claims.md, "Claims").

import { firstStatus, moveOrRefuse } from './machines.mjs';
import { respectUser } from './precedence.mjs';
import { smallestConfidence } from './schema.mjs';
import { claimThreshold, laneOf, laneStatus } from './settings.mjs';
import { hexOf, supportsOf } from './world.mjs';

const CONFIDENCE_MAX = 1000000;

const confidenceOf = (fields) => (fields.has('confidence') ? smallestConfidence(fields.get('confidence')) : CONFIDENCE_MAX);

// What a claim says: {subject, predicate, object}, or {text, domain}. One that an edit made has the edit's value for its
// object, or text, and else what its origin says.
export function wordsOf(world, claim) {
  const { fields, kindName } = claim.made;
  if (kindName === 'UserAssert') {
    const words = wordsOf(world, world.record(claim.state.origin));
    return { ...words, [words.text === undefined ? 'object' : 'text']: fields.get('value') };
  }
  return Object.fromEntries(['subject', 'predicate', 'object', 'text', 'domain'].map((name) => [name, fields.get(name)]));
}

const maySurface = (step, lane) => step.op.user || laneStatus(step.world, lane) !== 'Confirm';

function create(step) {
  const { world, op } = step;
  const lane = laneOf(Object.fromEntries(op.fields));
  if (!op.user && laneStatus(world, lane) === 'Blocked') step.refuse('lane_blocked');
  const number = confidenceOf(op.fields);
  const status = firstStatus('claim', {
    supported: world.areValid(supportsOf(op)),
    above_threshold: number >= claimThreshold(world),
    may_surface: maySurface(step, lane),
  });
  step.make(op.makes, 'claim', status, { number });
}

// Does another claim say something else of the same?
function isInConflict(world, claim) {
  const { subject, predicate, object } = wordsOf(world, claim);
  if (subject === undefined) return false;
  return [...world.records.values()].filter((other) => other.type === 'claim' && other !== claim).some((other) => {
    const words = wordsOf(world, other);
    return words.subject === subject && words.predicate === predicate && words.object !== object;
  });
}

const EVENTS = { Claim: 'promoted', Disputed: 'disputed' };

function updateStatus(step, claim) {
  const status = step.op.fields.get('status');
  respectUser(step, claim, status);
  if (!(status in EVENTS)) step.refuse('status_not_settable');
  const to = moveOrRefuse('claim', claim.state.status, EVENTS[status], {
    above_threshold: claim.state.number >= claimThreshold(step.world),
    may_surface: maySurface(step, laneOf(wordsOf(step.world, claim))),
    conflict: isInConflict(step.world, claim),
  });
  step.setStatus(claim.id, to);
}

function updateConfidence(step, claim) {
  respectUser(step, claim);
  step.change(claim.id, { number: confidenceOf(step.op.fields) });
}

function supersede(step, claim) {
  respectUser(step, claim, 'Superseded');
  const by = step.world.record(hexOf(step.op.fields.get('by')));
  const to = moveOrRefuse('claim', claim.state.status, 'superseded', {
    replacement: by !== undefined && by.type === 'claim' && by !== claim,
    by_user: step.op.user,
  });
  step.setStatus(claim.id, to, { by: by.id });
}

export const rules = {
  CreateClaim: create,
  UpdateClaimStatus: updateStatus,
  UpdateClaimConfidence: updateConfidence,
  SupersedeClaim: supersede,
};
