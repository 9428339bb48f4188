// What ops do to episodes and actions (spec/claims.md, "Episodes and actions").

import { firstStatus, moveOrRefuse } from './machines.mjs';
import { respectUser } from './precedence.mjs';
import { supportsOf } from './world.mjs';

const create = (type) => (step) => {
  step.make(step.op.makes, type, firstStatus(type, { supported: step.world.areValid(supportsOf(step.op)) }));
};

const EPISODE_EVENTS = { Archived: 'archived', Active: 'reactivated', Stale: 'staled' };

function updateEpisode(step, episode) {
  const status = step.op.fields.get('status');
  respectUser(step, episode, status);
  if (status !== undefined) {
    const to = moveOrRefuse('episode', episode.state.status, EPISODE_EVENTS[status], {
      by_user: step.op.user,
      supported: step.world.areValid(supportsOf(episode.made)),
    });
    step.setStatus(episode.id, to);
  }
  if (step.op.fields.has('title')) step.change(episode.id, { origin: step.op.id });
}

function updateAction(step, action) {
  const status = step.op.fields.get('status');
  respectUser(step, action, status);
  if (status === 'Proposed') step.refuse('status_not_settable');
  step.setStatus(action.id, moveOrRefuse('action', action.state.status, status.toLowerCase(), { by_user: step.op.user }));
}

export const rules = {
  CreateEpisode: create('episode'),
  CreateSuggestedAction: create('action'),
  UpdateEpisode: updateEpisode,
  UpdateActionStatus: updateAction,
};
