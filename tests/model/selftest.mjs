// What the model itself must know: known answers, and small stories whose end was worked out by hand from the chapters.
// The last line has the totals. Exit: 0 all passed, 1 some failed.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { blake2b } from './blake2b.mjs';
import { FIELDS, KIND_NAMES, MACHINES, TARGET_FIELDS } from './chapters.mjs';
import { decode, encode } from './msgpack.mjs';
import { describe, digestOf, keyedId, NOTHING, pack, settingId } from './records.mjs';
import { Story } from './story.mjs';

let passed = 0;
let failed = 0;

const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

function same(what, got, want) {
  if (asText(got) === asText(want)) {
    passed++;
    return;
  }
  failed++;
  console.log(`FAILED: ${what}\n  got:  ${asText(got)}\n  want: ${asText(want)}`);
}

const hex = (text) => Buffer.from(text, 'hex');

// Hashes.

const abc = Buffer.from('abc');
same('BLAKE2b-256 of abc', blake2b(abc).toString('hex'), 'bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319');
same('BLAKE2b-256 of nothing', blake2b(Buffer.alloc(0)).toString('hex'), '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8');
const long = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));
same('BLAKE2b-512 of every length to 400', Array.from({ length: 401 }, (_, n) => n).filter((n) => (
  blake2b(long.subarray(0, n), 64).toString('hex') !== createHash('blake2b512').update(long.subarray(0, n)).digest('hex'))), []);

// msgpack.

function readAndWrite(bytes) {
  try {
    return encode(decode(bytes)).toString('hex');
  } catch (error) {
    return error.message.replace(/:.*/, '');
  }
}

const vectors = JSON.parse(readFileSync(new URL('../../spec/vectors/values.json', import.meta.url)));
for (const { why, msgpack, error } of vectors) same(`value: ${why}`, readAndWrite(hex(msgpack)), error ?? msgpack);

// The chapters.

same('kinds', KIND_NAMES.size, 35);
same('kinds with fields', FIELDS.size, 30);
same('fields of a claim', FIELDS.get('CreateClaim').map(({ name, optional }) => name + (optional ? '?' : '')).join(' '),
  'subject? predicate? object? text? domain? confidence? supports? created_by?');
same('kinds with a target', [TARGET_FIELDS.size, TARGET_FIELDS.get('UserAssert'), TARGET_FIELDS.get('CancelJob')], [20, 'about', 'job']);
same('machines', [...MACHINES.keys()], ['claim', 'episode', 'action', 'job', 'execution']);
same('the first move of a claim', MACHINES.get('claim')[0],
  { from: '[*]', event: 'created', to: 'Claim', guards: ['supported', 'above_threshold', 'may_surface'] });

// States, ids, the digest.

const ID = '000000000001000000000000000000aa';
const full = {
  ...NOTHING, type: 'claim', status: 'Superseded', pinned: true, cascaded: true, by: ID, origin: ID, number: 258, until: 3, maker: ID };
same('a state with everything', pack(full).toString('hex'), `0305091f${ID}${ID}000001020000000000000003${ID}`);
same('a state with nothing', pack({ ...NOTHING, type: 'coordinator', status: 'Set' }).toString('hex'), '0d000000');
same('a state in words', describe(pack(full)), `claim Superseded pinned cascaded by=${ID} origin=${ID} number=258 until=3 maker=${ID}`);

const ascii = (text) => Buffer.from(text, 'latin1');
const first16 = (text) => blake2b(ascii(text)).toString('hex', 0, 16);
same('the id of a lane', settingId('lane', 'ann', 'likes'), first16('meshlog setting 1\x0a\0\0\0\x03ann\0\0\0\x05likes'));
same('the id of the coordinator', settingId('coordinator'), first16('meshlog setting 1\x0d'));
same('a keyed id', keyedId(22, new Map([['text', 'x'], ['idempotency_key', 'k']])),
  first16('meshlog record 1\0\0\0\x16\x82\xafidempotency_key\xa1k\xa4text\xa1x'));
const one = { id: ID, version: ID, state: hex('01000000') };
const hashOfOne = blake2b(Buffer.concat([ascii('meshlog state 1'), hex(ID + ID), one.state]));
same('the digest of one record', digestOf([one]), hashOfOne.toString('hex'));
const littleEndian = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
same('the digest of three', `${littleEndian(hex(digestOf([one, one, one])))}`, `${BigInt.asUintN(256, 3n * littleEndian(hashOfOne))}`);

// Stories.

const HASH = Buffer.alloc(32, 7);
const evidence = (more = {}) => ({ source_type: 'mail', content: HASH, size: 1, ...more });
const claim = (object, more = {}) => ({ subject: 'ann', predicate: 'likes', object, ...more });

function story(name, tell) {
  const log = new Story();
  tell(log, (what, got, want) => same(`${name}: ${what}`, got, want));
}

story('tombstone', (log, is) => {
  const mail = log.machine('IngestEvidence', evidence());
  const tea = log.machine('CreateClaim', claim('tea', { supports: [mail], confidence: 600000 }));
  const fact = log.machine('CreateClaim', claim('tea', { supports: [tea] }));
  log.assert('confirm', fact);
  const trip = log.machine('CreateEpisode', { title: 'trip', supports: [fact, tea] });
  const call = log.machine('CreateSuggestedAction', { title: 'call', supports: [trip] });
  const gone = log.machine('TombstoneEvidence', { evidence: mail });
  is('the cascade', [mail, tea, fact, trip, call].map((op) => log.now(op)), [
    'evidence Tombstoned', 'claim Stale cascaded number=600000', 'claim Fact byUser number=1000000', 'episode Stale cascaded',
    'action Rejected cascaded']);
  is('a second one', log.outcome(log.user('TombstoneEvidence', { evidence: mail })), 'rejected fsm no_move');
  is('what is made on it', log.now(log.user('CreateArtifact', { artifact_type: 'pdf', supports: [tea] })), 'artifact Stale');
  gone.user = true;
  is('a user goes through a Fact', log.history(fact), [
    'claim Claim number=1000000 @2', 'claim Fact byUser number=1000000 @3', 'claim Stale cascaded number=1000000 @6']);
});

story('a cascade stops', (log, is) => {
  const low = log.machine('CreateClaim', claim('tea'));
  const fact = log.machine('CreateClaim', claim('tea', { supports: [low] }));
  const high = log.machine('CreateClaim', claim('tea', { supports: [fact] }));
  log.assert('confirm', fact);
  log.assert('reject', low);
  is('below a Fact', [low, fact, high].map((op) => log.now(op)), [
    'claim Rejected byUser number=1000000', 'claim Fact byUser number=1000000', 'claim Claim number=1000000']);
});

story('confidence', (log, is) => {
  const hint = log.machine('CreateClaim', claim('tea', { confidence: { a: 900000, b: 499999 } }));
  const low = log.machine('UpdateClaimStatus', { claim: hint, status: 'Claim' });
  is('below the threshold', [log.now(hint), log.outcome(low)], ['claim Hint number=499999', 'rejected fsm below_threshold']);
  log.user('SetMeshRules', { rules: { claim_threshold: 0, other: null } });
  const up = log.machine('UpdateClaimStatus', { claim: hint, status: 'Claim' });
  is('after a new rule', [log.outcome(up), log.now(hint)], ['applied', 'claim Claim number=499999']);
  is('a rule of zero', log.now(settingId('rule', 'claim_threshold')), `rule Set origin=${log.ops[2].id}`);
  is('of another name', log.now(settingId('rule', 'other')), `rule Set origin=${log.ops[2].id}`);
  log.machine('UpdateClaimConfidence', { claim: hint, confidence: 1 });
  log.machine('UpdateClaimConfidence', { claim: hint, confidence: 1 });
  is('set twice, changed once', log.history(hint).length, 3);
});

story('lanes', (log, is) => {
  const hint = log.machine('CreateClaim', claim('tea', { confidence: 1 }));
  log.assert('lane', hint, { value: 'confirm' });
  is('waits for the user', log.now(log.machine('CreateClaim', claim('milk'))), 'claim Hint number=1000000');
  is('not in another lane', log.now(log.machine('CreateClaim', { text: 'x', domain: 'ann' })), 'claim Claim number=1000000');
  is('may not surface', log.outcome(log.machine('UpdateClaimStatus', { claim: log.ops[2], status: 'Claim' })), 'rejected fsm lane_confirm');
  log.assert('lane', hint, { value: 'block' });
  const blocked = log.machine('CreateClaim', claim('rum'));
  const rest = log.machine('CreateClaim', claim('ale', { supports: [blocked] }));
  is('blocked', [log.outcome(blocked), log.now(blocked), log.outcome(rest)], ['rejected fsm lane_blocked', 'none', 'rejected fsm lane_blocked']);
  is('a user may', log.now(log.user('CreateClaim', claim('ale', { supports: [blocked] }))), 'claim Stale number=1000000');
  log.assert('lane', hint, { value: 'block' });
  is('the lane', log.history(settingId('lane', 'ann', 'likes')), ['lane Confirm @1', 'lane Blocked @5']);
  const text = log.user('CreateClaim', { text: 'x' });
  is('none', log.outcome(log.assert('lane', text, { value: 'allow' })), 'rejected fsm no_lane');
});

story('disputed and superseded', (log, is) => {
  const tea = log.machine('CreateClaim', claim('tea'));
  const dispute = () => log.outcome(log.machine('UpdateClaimStatus', { claim: tea, status: 'Disputed' }));
  is('alone', dispute(), 'rejected fsm no_conflict');
  log.machine('CreateClaim', claim('tea', { confidence: 1 }));
  is('by the same', dispute(), 'rejected fsm no_conflict');
  const milk = log.machine('CreateClaim', claim('milk', { confidence: 1 }));
  log.assert('reject', milk);
  is('by another', [dispute(), log.now(tea)], ['applied', 'claim Disputed number=1000000']);
  const supersede = (by, replacement) => log.outcome(log.op(by, 'SupersedeClaim', { claim: tea, by: replacement }));
  is('by itself', supersede('machine', tea), 'rejected fsm no_replacement');
  is('by the other', [supersede('machine', milk), log.now(tea)], ['applied', `claim Superseded by=${milk.id} number=1000000`]);
  log.assert('confirm', tea);
  is('a Fact', supersede('machine', milk), 'rejected frozen fact_frozen');
  is('a Fact, by a user', supersede('user', milk), 'applied');
  is('a machine afterwards', supersede('machine', milk), 'rejected frozen user_decided');
});

story('edit', (log, is) => {
  const tea = log.machine('CreateClaim', claim('tea'));
  const milk = log.assert('edit', tea, { value: 'milk' });
  const rum = log.assert('edit', milk, { value: 'rum' });
  is('the old', log.now(tea), `claim Superseded byUser by=${milk.id} number=1000000`);
  is('the newest has the first for its origin', log.now(rum), `claim Fact byUser origin=${tea.id} number=1000000`);
  const other = log.machine('CreateClaim', claim('tea'));
  is('it conflicts', log.outcome(log.machine('UpdateClaimStatus', { claim: other, status: 'Disputed' })), 'applied');
  log.assert('lane', rum, { value: 'block' });
  is('it has the lane', log.now(settingId('lane', 'ann', 'likes')), 'lane Blocked');
});

story('pins, and words of the user', (log, is) => {
  const trip = log.machine('CreateEpisode', { title: 'trip' });
  const update = (by, fields) => log.outcome(log.op(by, 'UpdateEpisode', { episode: trip, ...fields }));
  log.assert('pin', trip);
  is('pinned', update('machine', { title: 'tour' }), 'rejected frozen pinned');
  is('by a user', [update('user', { title: 'tour' }), log.now(trip)], ['applied', `episode Active pinned origin=${log.ops[3].id}`]);
  log.assert('pin', trip, { value: false });
  is('staled', [update('user', { status: 'Stale' }), log.now(trip)], ['applied', `episode Stale byUser origin=${log.ops[3].id}`]);
  is('user_decided', update('machine', { status: 'Archived', title: 'x' }), 'rejected frozen user_decided');
  is('a title is no status', update('machine', { title: 'x' }), 'applied');
  const call = log.machine('CreateSuggestedAction', { title: 'call' });
  const act = (by, status) => log.outcome(log.op(by, 'UpdateActionStatus', { action: call, status }));
  is('a machine approves', act('machine', 'Approved'), 'rejected fsm by_user_only');
  is('a user approves', act('user', 'Approved'), 'applied');
  is('a machine lets it expire', act('machine', 'Expired'), 'rejected frozen user_decided');
  is('a machine goes on', [act('machine', 'Executing'), log.now(call)], ['applied', 'action Executing']);
  is('and ends it', [act('machine', 'Completed'), log.now(call)], ['applied', 'action Completed']);
  is('which is final', log.outcome(log.assert('reject', call)), 'rejected fsm no_move');
});

story('keys', (log, is) => {
  const mail = evidence({ source_anchor: '1' });
  const first = log.machine('IngestEvidence', mail);
  const second = log.user('IngestEvidence', mail);
  const id = keyedId(16, new Map([['content', HASH], ['size', 1n], ['source_anchor', '1'], ['source_type', 'mail']]));
  is('one record', [log.outcome(second), log.history(id)], ['applied', [`evidence Present maker=${first.id} @0`]]);
  is('not under the id of an op', log.outcome(log.user('TombstoneEvidence', { evidence: first })), 'rejected unknown_target target_void');
  const hide = (hash) => log.outcome(log.assert('hide', { id, hash: '' }, { hash: hex(hash) }));
  is('the hash of either maker', [hide(first.hash), hide(second.hash)], ['applied', 'applied']);
  is('of another op', hide(log.ops[2].hash), 'rejected unknown_target other_content');
});

story('versions', (log, is) => {
  const acme = log.machine('CreateEntity', { name: 'Acme' });
  const alias = (version) => log.machine('AddEntityAlias', { entity: acme, name: 'A', if_version: version });
  const fresh = alias(acme);
  is('fresh', log.outcome(fresh), 'applied');
  is('taken', log.outcome(alias(acme)), 'rejected stale_version version_taken');
  is('the next', log.outcome(alias(fresh)), 'applied');
  is('none such', log.outcome(alias(log.ops[2])), 'rejected stale_version version_gone');
  is('history', log.history(acme), ['entity Present @0', 'entity Present @1', 'entity Present @3']);
});

story('what is named', (log, is) => {
  const twin = log.machine('CreateEntity', { name: 'Acme' }, { stands: false });
  const nobody = { id: 'ff'.repeat(16), hash: '' };
  const alias = (entity) => log.outcome(log.machine('AddEntityAlias', { entity, name: 'A' }));
  is('void', alias(twin), 'rejected unknown_target target_void');
  is('nothing', alias(nobody), 'rejected unknown_target no_target');
  is('of another type', alias(log.machine('CreateEpisode', { title: 'x' })), 'rejected unknown_target wrong_type');
  is('a support that is void', log.now(log.machine('CreateClaim', claim('tea', { supports: [twin] }))), 'claim Stale number=1000000');
  is('a support that is nothing', log.outcome(log.machine('CreateClaim', claim('tea', { supports: [nobody] }))), 'rejected unknown_target support_missing');
  const entity = log.machine('CreateEntity', { name: 'B' });
  is('an entity for a support', log.outcome(log.machine('CreateClaim', claim('tea', { supports: [entity] }))), 'rejected unknown_target support_type');
  is('content withheld', log.outcome(log.machine('IngestEvidence', evidence(), { withheld: ['content'] })), 'pending payload_absent');
  const keyed = { text: 'x', idempotency_key: 'k', content: 'c' };
  is('content withheld of what is keyed', log.outcome(log.machine('CreateClaim', keyed, { withheld: ['content'] })), 'pending payload_absent');
  is('two claims in one', log.outcome(log.machine('CreateClaim', claim('tea', { text: 'x' }))), 'rejected schema');
  is('into what is void', log.outcome(log.machine('MergeEntities', { entity, into: twin })), 'rejected unknown_target target_void');
  is('into itself', log.outcome(log.machine('MergeEntities', { entity, into: entity })), 'rejected fsm itself');
});

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
  log.user('RouteKind', { kind: 'k', node: HASH });
  is('routed', log.outcome(log.op('m1', 'ClaimWork', { job })), 'rejected fsm routed_elsewhere');
});

console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed === 0 ? 0 : 1;
