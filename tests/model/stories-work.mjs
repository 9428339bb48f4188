// Stories about work, and their ends by spec/jobs.md.

import { story } from './check.mjs';
import { settingId } from './records.mjs';

const AT = 1000000; // Well before any lease ends by itself.

story('work', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k', lease_ms: 5000, serial_key: 's' }, { at: AT });
  const one = log.op('m1', 'ClaimWork', { job }, { at: AT + 1000 });
  const two = log.op('m2', 'ClaimWork', { job }, { at: AT + 2000 });
  is('claimed', log.now(job), `job Claimed by=${one.id} number=1 until=${AT + 6000}`);
  is('lost, but kept', [log.outcome(two), log.now(two)], ['rejected fsm lease_held', `execution LEASED origin=${job.id} number=1 until=${AT + 7000}`]);
  log.op('m1', 'ClaimWork', { job, renews: one }, { at: AT + 3000 });
  is('renewed', log.history(settingId('serial', 's')), [
    `serial Busy by=${job.id} until=${AT + 6000} @1`, `serial Busy by=${job.id} until=${AT + 8000} @3`]);
  log.op('m2', 'CommitWork', { job, execution: two }, { at: AT + 4000 });
  is('the loser commits', [log.now(job), log.now(two)], [
    `job Claimed by=${one.id} origin=${two.id} number=1 until=${AT + 8000}`, `execution COMMITTED origin=${job.id} number=1 until=${AT + 7000}`]);
  const late = log.op('m1', 'CommitWork', { job, execution: one }, { at: AT + 5000 });
  is('the holder is too late', [log.outcome(late), log.now(one)], [
    'rejected fsm already_committed', `execution ABORTED origin=${job.id} number=1 until=${AT + 8000}`]);
  log.op('m3', 'CompleteJob', { job }, { at: AT + 6000 });
  is('completed by anyone', [log.now(job), log.now(two), log.now(settingId('serial', 's'))], [
    `job Completed origin=${two.id} number=1`, `execution DONE origin=${job.id} number=1 until=${AT + 7000}`, 'serial Free']);
});

story('attempts', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k', attempts: 2 }, { at: AT });
  const attempt = (by, end, fields) => {
    const execution = log.op(by, 'ClaimWork', { job, lease_ms: 1000 });
    return log.outcome(log.op(by, end, { job, execution, ...fields }));
  };
  is('fail', [attempt('m1', 'FailWork'), log.now(job)], ['applied', 'job Pending number=1']);
  is('fail again', [attempt('m1', 'FailWork'), log.now(job)], ['applied', 'job Failed number=2']);
  is('no more', log.outcome(log.op('m1', 'ClaimWork', { job })), 'rejected fsm no_move');
  log.machine('CancelJob', { job });
  is('cancelled', log.now(job), 'job Cancelled number=2');
});

story('leases that end', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k', lease_ms: 1000, serial_key: 's' }, { at: AT });
  const one = log.op('m1', 'ClaimWork', { job }, { at: AT });
  const other = log.machine('ScheduleJob', { kind: 'k', serial_key: 's' }, { at: AT });
  is('busy', log.outcome(log.op('m2', 'ClaimWork', { job: other }, { at: AT + 999 })), 'rejected fsm serial_busy');
  is('too early to expire', log.outcome(log.op('m2', 'ExpireWork', { job, execution: one }, { at: AT + 999 })), 'rejected fsm lease_held');
  const two = log.op('m2', 'ClaimWork', { job: other }, { at: AT + 1000 });
  is('not busy any more', [log.outcome(two), log.now(settingId('serial', 's'))], ['applied', `serial Busy by=${other.id} until=${AT + 901000}`]);
  is('too late', log.outcome(log.op('m1', 'CommitWork', { job, execution: one }, { at: AT + 1000 })), 'rejected fsm lease_over');
  log.op('m2', 'ExpireWork', { job, execution: one }, { at: AT + 1000 });
  is('expired', [log.now(job), log.now(one)], ['job Pending number=1', `execution ABORTED origin=${job.id} number=1 until=${AT + 1000}`]);
  is('the serial key stays the other job\'s', log.now(settingId('serial', 's')), `serial Busy by=${other.id} until=${AT + 901000}`);
  log.user('RouteKind', { kind: 'k', node: Buffer.alloc(32, 7) });
  is('routed', log.outcome(log.op('m1', 'ClaimWork', { job })), 'rejected fsm routed_elsewhere');
});

story('while the commit of another counts', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k' }, { at: AT });
  const one = log.op('m1', 'ClaimWork', { job, lease_ms: 5000 }, { at: AT });
  const two = log.op('m2', 'ClaimWork', { job, lease_ms: 5000 }, { at: AT });
  const cancel = () => log.outcome(log.machine('CancelJob', { job }));
  log.op('m2', 'CommitWork', { job, execution: two }, { at: AT + 1 });
  const yielded = log.op('m1', 'YieldWork', { job, execution: one }, { at: AT + 2 });
  is('the holder gives up, the job stays', [log.outcome(yielded), log.now(one), log.now(job)], [
    'applied', `execution ABORTED origin=${job.id} number=1 until=${AT + 2}`, `job Claimed by=${one.id} origin=${two.id} number=1 until=${AT + 5000}`]);
  is('nobody claims it, whatever the route', log.outcome(log.op('m1', 'ClaimWork', { job }, { at: AT + 3 })), 'rejected fsm already_committed');
  is('nobody cancels it', cancel(), 'rejected fsm already_committed');
  is('nobody completes it with another', log.outcome(log.op('m1', 'CompleteJob', { job, execution: one })), 'rejected fsm already_committed');
  is('it committed already', log.outcome(log.op('m2', 'CommitWork', { job, execution: two })), 'rejected fsm no_move');
  log.op('m1', 'CompleteJob', { job, execution: two });
  is('completed', log.outcome(log.op('m2', 'CompleteJob', { job })), 'rejected fsm no_move');
  is('with nobody, when completed', log.outcome(log.op('m2', 'CompleteJob', { job, execution: job })), 'rejected unknown_target no_target');
});

story('completed in one', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k' }, { at: AT });
  is('by nobody', log.outcome(log.op('m1', 'CompleteJob', { job })), 'rejected fsm not_committed');
  const one = log.op('m1', 'ClaimWork', { job, lease_ms: 5000 });
  const two = log.op('m2', 'ClaimWork', { job, lease_ms: 5000 });
  is('by another node', log.outcome(log.op('m2', 'CompleteJob', { job })), 'rejected fsm not_holder');
  is('by the holder', [log.outcome(log.op('m1', 'CompleteJob', { job })), log.history(one).map((line) => line.split(' ')[1])], [
    'applied', ['LEASED', 'DONE']]);
  const late = log.op('m2', 'CompleteJob', { job, execution: two });
  is('the other is as it was', [log.outcome(late), log.now(two).split(' ')[1]], ['rejected fsm no_move', 'LEASED']);
});

story('an execution', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k' }, { at: AT });
  const other = log.machine('ScheduleJob', { kind: 'k' }, { at: AT });
  const one = log.op('m1', 'ClaimWork', { job, lease_ms: 5000 }, { at: AT });
  const work = (by, kind, fields, at) => log.outcome(log.op(by, kind, { job, execution: one, ...fields }, { at: AT + at }));
  is('of another job', work('m1', 'StartWork', { job: other }, 1), 'rejected unknown_target no_target');
  is('of another node', work('m2', 'StartWork', {}, 1), 'rejected fsm not_holder');
  is('renewed by another node', work('m2', 'ClaimWork', { renews: one }, 1), 'rejected fsm not_holder');
  is('started', work('m1', 'StartWork', {}, 1), 'applied');
  is('started twice, and too late', work('m1', 'StartWork', {}, 5000), 'rejected fsm no_move');
  is('renewed too late', work('m1', 'ClaimWork', { renews: one }, 5000), 'rejected fsm lease_over');
  const two = log.op('m2', 'ClaimWork', { job, lease_ms: 5000 }, { at: AT + 5000 });
  is('lost to the next', [log.now(one), log.now(job)], [
    `execution ABORTED origin=${job.id} number=1 until=${AT + 5000}`, `job Claimed by=${two.id} number=2 until=${AT + 10000}`]);
  is('which ends it', work('m1', 'YieldWork', {}, 5001), 'rejected fsm no_move');
  is('for others, too', work('m2', 'YieldWork', {}, 5001), 'rejected fsm not_holder');
  is('and for good', work('m1', 'ClaimWork', { renews: one }, 6000), 'rejected fsm no_move');
  is('also for commits', work('m1', 'CommitWork', {}, 6000), 'rejected fsm no_move');
  is('and expiring', work('m1', 'ExpireWork', {}, 6000), 'rejected fsm no_move');
  is('expired before its end', work('m1', 'ExpireWork', { execution: two }, 6000), 'rejected fsm lease_held');
  log.machine('CancelJob', { job }, { at: AT + 7000 });
  is('of a cancelled job', [log.now(job), log.now(two)], ['job Cancelled number=2', `execution LEASED origin=${job.id} number=2 until=${AT + 10000}`]);
  is('may renew', [work('m2', 'ClaimWork', { renews: two }, 8000), log.now(job)], ['applied', 'job Cancelled number=2']);
  is('and complete', [work('m2', 'CompleteJob', { execution: two }, 9000), log.now(job)], ['applied', `job Completed origin=${two.id} number=2`]);
});

story('a lease that is over', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k' }, { at: AT });
  const one = log.op('m1', 'ClaimWork', { job, lease_ms: 1000 }, { at: AT });
  is('no start', log.outcome(log.op('m1', 'StartWork', { job, execution: one }, { at: AT + 1000 })), 'rejected fsm lease_over');
  log.op('m1', 'YieldWork', { job, execution: one }, { at: AT + 3000 });
  is('yielded late', [log.now(one), log.now(job)], [`execution ABORTED origin=${job.id} number=1 until=${AT + 3000}`, 'job Pending number=1']);
  const two = log.op('m1', 'ClaimWork', { job, lease_ms: 1000 }, { at: AT + 4000 });
  log.op('m1', 'FailWork', { job, execution: two, final: false }, { at: AT + 9000 });
  is('failed late, not finally', [log.now(two), log.now(job)], [`execution ABORTED origin=${job.id} number=2 until=${AT + 9000}`, 'job Pending number=2']);
  const three = log.op('m1', 'ClaimWork', { job });
  log.op('m1', 'FailWork', { job, execution: three });
  is('three times by default', log.now(job), 'job Failed number=3');
  const again = log.machine('ScheduleJob', { kind: 'k' });
  log.op('m1', 'FailWork', { job: again, execution: log.op('m1', 'ClaimWork', { job: again }), final: true });
  is('finally', log.now(again), 'job Failed number=1');
});

story('how long a lease is', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k', lease_ms: 2000 }, { at: AT });
  const plain = log.machine('ScheduleJob', { kind: 'k' }, { at: AT });
  const until = (fields) => Number(log.now(log.op('m1', 'ClaimWork', fields, { at: AT })).match(/until=(\d+)/)[1]) - AT;
  const rule = (lease) => log.user('SetMeshRules', { rules: { lease } }, { at: AT });
  is('as the op says, the job, nobody', [until({ job, lease_ms: 3000 }), until({ job }), until({ job: plain })], [3000, 2000, 900000]);
  rule(1);
  is('a rule of too little', [until({ job }), until({ job: plain })], [2000, 1000]);
  rule(604800001);
  is('of too much', until({ job: plain }), 604800000);
  rule(0);
  is('of nothing', until({ job: plain }), 1000);
});

story('routes', (log, is) => {
  const job = log.machine('ScheduleJob', { kind: 'k' }, { at: AT });
  const one = log.op('m1', 'ClaimWork', { job, lease_ms: 5000 });
  const claim = () => log.outcome(log.op('m2', 'ClaimWork', { job }));
  log.user('RouteKind', { kind: 'k', node: Buffer.from(one.author, 'hex') });
  is('before the lease', claim(), 'rejected fsm routed_elsewhere');
  log.user('RouteKind', { kind: 'k' });
  is('to nobody', claim(), 'rejected fsm lease_held');
});
