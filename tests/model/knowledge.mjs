// Evidence, artifacts and entities (spec/claims.md).

import { hexOf, supportsOf } from './world.mjs';

function tombstone(step, evidence) {
  if (evidence.state.status !== 'Present') step.refuse('no_move');
  step.change(evidence.id, { status: 'Tombstoned' });
}

function createArtifact(step) {
  step.make(step.op.makes, 'artifact', step.world.areValid(supportsOf(step.op)) ? 'Fresh' : 'Stale');
}

function evict(step, artifact) {
  if (artifact.state.status === 'Evicted') step.refuse('no_move');
  step.change(artifact.id, { status: 'Evicted' });
}

// The entity is what it was; the entry says that something was said of it.
const mention = (step, entity) => step.change(entity.id, {}, { always: true });

function merge(step, entity) {
  const id = hexOf(step.op.fields.get('into'));
  const into = step.world.record(id);
  if (into === undefined) step.refuse(step.world.whyNone(id, step.op), 'unknown_target');
  if (into.type !== 'entity') step.refuse('wrong_type', 'unknown_target');
  if (into === entity) step.refuse('itself');
  mention(step, entity);
}

function split(step, entity) {
  mention(step, entity);
  step.make(step.op.id, 'entity', 'Present');
}

export const rules = {
  IngestEvidence: (step) => step.make(step.op.makes, 'evidence', 'Present'),
  TombstoneEvidence: tombstone,
  CreateArtifact: createArtifact,
  EvictArtifact: evict,
  CreateEntity: (step) => step.make(step.op.makes, 'entity', 'Present'),
  AddEntityAlias: mention,
  MergeEntities: merge,
  SplitEntity: split,
};
