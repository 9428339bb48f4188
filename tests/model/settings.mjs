// Records that nobody names: rules, lanes, routes, the coordinator (spec/claims.md, "Settings"; spec/folds.md).

import { settingId } from './records.mjs';

const CLAIM_THRESHOLD = 500000;

const settingState = (world, type, ...texts) => world.record(settingId(type, ...texts))?.state;

function setMeshRules(step) {
  for (const [name, value] of step.op.fields.get('rules')) {
    step.makeOrChange(settingId('rule', name), 'rule', 'Set', {
      origin: step.op.id,
      number: name === 'claim_threshold' ? Number(value) : 0,
      until: name === 'lease' || name === 'fold_version' ? Number(value) : 0,
    });
  }
}

function route(step) {
  step.makeOrChange(settingId('route', step.op.fields.get('kind')), 'route', 'Set', { origin: step.op.id });
}

function designate(step) {
  step.makeOrChange(settingId('coordinator'), 'coordinator', 'Set', { origin: step.op.id });
}

export const claimThreshold = (world) => settingState(world, 'rule', 'claim_threshold')?.number ?? CLAIM_THRESHOLD;

// By which version the ops that come now are folded.
export const foldVersion = (world) => settingState(world, 'rule', 'fold_version')?.until ?? 1;

// Undefined where no rule says it.
export const leaseRule = (world) => settingState(world, 'rule', 'lease')?.until;

// The author to whom jobs of this kind go, in hex; undefined where they go to anyone.
export function routedTo(world, jobKind) {
  const state = settingState(world, 'route', jobKind);
  if (state === undefined) return undefined;
  return world.evaluated.find((op) => op.id === state.origin).fields.get('node')?.toString('hex');
}

// Of what a claim says: the texts that its lane has, or undefined.
export function laneOf({ subject, predicate, text, domain }) {
  if (text === undefined) return [subject, predicate];
  return domain === undefined ? undefined : [domain];
}

export const laneStatus = (world, lane) => (lane === undefined ? 'Allowed' : settingState(world, 'lane', ...lane)?.status ?? 'Allowed');

export const setLane = (step, lane, status) => step.makeOrChange(settingId('lane', ...lane), 'lane', status);

export const rules = { SetMeshRules: setMeshRules, RouteKind: route, DesignateCoordinator: designate };
