// What the ops of work do (spec/jobs.md).

import { moveOrRefuse } from './machines.mjs';
import { settingId } from './records.mjs';
import { Refusal } from './refusal.mjs';
import { leaseRule, routedTo } from './settings.mjs';
import { hexOf } from './world.mjs';

const LEASE = 900000;
const LEASE_MIN = 1000;
const LEASE_MAX = 604800000;
const ATTEMPTS = 3;

const isOpen = ({ status }) => status === 'LEASED' || status === 'IN_PROGRESS';
const isOver = ({ until }, op) => op.time >= until;
const holds = (job, execution) => job.state.status === 'Claimed' && job.state.by === execution.id;

const moveExecution = (step, id, event, more = {}) => (
  step.change(id, { status: moveOrRefuse('execution', step.state(id).status, event, { in_time: true }), ...more }));

const serialId = (job) => (job.made.fields.has('serial_key') ? settingId('serial', job.made.fields.get('serial_key')) : undefined);

// The job leaves Claimed, or stays what else it is.
function release(step, job, status) {
  step.change(job.id, { status, by: null, until: 0 });
  const serial = step.world.record(serialId(job))?.state;
  if (serial?.status === 'Busy' && serial.by === job.id) step.change(serialId(job), { status: 'Free', by: null, until: 0 });
}

function leaseEnd(step, job) {
  const said = step.op.fields.get('lease_ms') ?? job.made.fields.get('lease_ms');
  if (said !== undefined) return step.op.time + Number(said);
  const rule = leaseRule(step.world);
  return step.op.time + (rule === undefined ? LEASE : Math.min(Math.max(rule, LEASE_MIN), LEASE_MAX));
}

// Why the job cannot be Claimed, or undefined.
function whyNot({ world, op }, job) {
  const { state, made } = job;
  if (state.origin !== null || state.status === 'Completed') return 'already_committed';
  if (state.status === 'Failed' || state.status === 'Cancelled') return 'no_move';
  if ((routedTo(world, made.fields.get('kind')) ?? op.author) !== op.author) return 'routed_elsewhere';
  if (state.status === 'Claimed' && !isOver(state, op)) return 'lease_held';
  const serial = world.record(serialId(job))?.state;
  if (serial?.status === 'Busy' && serial.by !== job.id && !isOver(world.record(serial.by).state, op)) return 'serial_busy';
  return undefined;
}

function claim(step, job) {
  const until = leaseEnd(step, job);
  const rule = whyNot(step, job);
  const number = job.state.number + (rule === undefined ? 1 : 0);
  step.make(step.op.id, 'execution', 'LEASED', { origin: job.id, number, until });
  if (rule !== undefined) throw new Refusal('fsm', rule, { kept: true });

  const before = job.state.by;
  if (before !== null && isOpen(step.state(before))) moveExecution(step, before, 'aborted');
  const status = moveOrRefuse('job', job.state.status, 'claimed', { lease_over: true });
  step.change(job.id, { status, by: step.op.id, until, number });
  if (serialId(job) !== undefined) step.makeOrChange(serialId(job), 'serial', 'Busy', { by: job.id, until });
}

function findExecution(step, job, id) {
  const execution = step.world.record(id);
  const isOfJob = execution !== undefined && execution.type === 'execution' && execution.state.origin === job.id;
  if (!isOfJob) step.refuse('no_target', 'unknown_target');
  return execution;
}

const named = (step, job) => findExecution(step, job, hexOf(step.op.fields.get('execution')));

function checkHolder(step, execution) {
  if (execution.made.author !== step.op.author) step.refuse('not_holder');
}

function renew(step, job) {
  const execution = findExecution(step, job, hexOf(step.op.fields.get('renews')));
  checkHolder(step, execution);
  if (!isOpen(execution.state)) step.refuse('no_move');
  if (isOver(execution.state, step.op)) step.refuse('lease_over');
  const until = leaseEnd(step, job);
  step.change(execution.id, { until });
  if (!holds(job, execution)) return;
  step.change(job.id, { until });
  const serial = step.world.record(serialId(job))?.state;
  if (serial?.by === job.id) step.change(serialId(job), { until });
}

function start(step, job) {
  const execution = named(step, job);
  checkHolder(step, execution);
  if (execution.state.status !== 'LEASED') step.refuse('no_move');
  if (isOver(execution.state, step.op)) step.refuse('lease_over');
  moveExecution(step, execution.id, 'started');
}

// The execution's commit is the one that counts, or is refused.
function commitExecution(step, job, execution) {
  checkHolder(step, execution);
  const { state } = execution;
  if (job.state.origin !== null && job.state.origin !== execution.id) {
    if (isOpen(state)) moveExecution(step, execution.id, 'aborted');
    throw new Refusal('fsm', 'already_committed', { kept: true });
  }
  if (!isOpen(state)) step.refuse('no_move');
  if (isOver(state, step.op)) step.refuse('lease_over');
  if (state.status === 'LEASED') moveExecution(step, execution.id, 'started');
  moveExecution(step, execution.id, 'committed');
  step.change(job.id, { origin: execution.id });
}

const commit = (step, job) => commitExecution(step, job, named(step, job));

function executionToComplete(step, job) {
  if (step.op.fields.has('execution')) return named(step, job);
  const id = job.state.origin ?? job.state.by;
  if (id === null) step.refuse('not_committed');
  return step.world.record(id);
}

function complete(step, job) {
  const execution = executionToComplete(step, job);
  if (job.state.status === 'Completed') step.refuse('no_move');
  if (job.state.origin === null) commitExecution(step, job, execution);
  else if (job.state.origin !== execution.id) step.refuse('already_committed');
  moveExecution(step, execution.id, 'done');
  release(step, job, moveOrRefuse('job', job.state.status, 'completed', { committed: true }));
}

// The execution ends. The job, if it was the one that held it and no commit counts, does what `event` says.
function giveUp(step, job, execution, event, guards, more = {}) {
  if (!isOpen(execution.state)) step.refuse('no_move');
  moveExecution(step, execution.id, 'aborted', more);
  if (holds(job, execution) && job.state.origin === null) {
    release(step, job, moveOrRefuse('job', job.state.status, event, guards));
  }
}

function yieldWork(step, job) {
  const execution = named(step, job);
  checkHolder(step, execution);
  giveUp(step, job, execution, 'yielded', {}, { until: step.op.time });
}

function expire(step, job) {
  const execution = named(step, job);
  if (!isOver(execution.state, step.op)) step.refuse('lease_held');
  giveUp(step, job, execution, 'expired', { lease_over: true });
}

function fail(step, job) {
  const execution = named(step, job);
  checkHolder(step, execution);
  const attempts = Number(job.made.fields.get('attempts') ?? ATTEMPTS);
  const attemptsLeft = step.op.fields.get('final') !== true && job.state.number < attempts;
  giveUp(step, job, execution, 'failed', { attempts_left: attemptsLeft }, { until: step.op.time });
}

function cancel(step, job) {
  if (job.state.origin !== null) step.refuse('already_committed');
  release(step, job, moveOrRefuse('job', job.state.status, 'cancelled', {}));
}

export const rules = {
  ScheduleJob: (step) => step.make(step.op.makes, 'job', 'Pending'),
  ClaimWork: (step, job) => (step.op.fields.has('renews') ? renew(step, job) : claim(step, job)),
  StartWork: start,
  CommitWork: commit,
  CompleteJob: complete,
  YieldWork: yieldWork,
  ExpireWork: expire,
  FailWork: fail,
  CancelJob: cancel,
};
