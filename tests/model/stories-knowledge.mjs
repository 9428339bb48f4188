// Stories about what is known, and their ends by spec/folds.md and spec/claims.md.

import { story } from './check.mjs';
import { keyedId, settingId } from './records.mjs';

const HASH = Buffer.alloc(32, 7);
const bytes = (hex) => Buffer.from(hex, 'hex');
const evidence = (more = {}) => ({ source_type: 'mail', content: HASH, size: 1, ...more });
const claim = (object, more = {}) => ({ subject: 'ann', predicate: 'likes', object, ...more });

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
  const hide = (hash) => log.outcome(log.assert('hide', bytes(id), { hash: bytes(hash) }));
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
  const nobody = Buffer.alloc(16, 255);
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

story('what is said of a Superseded claim', (log, is) => {
  const mail = log.machine('IngestEvidence', evidence());
  const tea = log.machine('CreateClaim', claim('tea', { supports: [mail] }));
  const milk = log.machine('CreateClaim', claim('milk'));
  const entity = log.machine('CreateEntity', { name: 'x' });
  const supersede = (by) => log.outcome(log.machine('SupersedeClaim', { claim: tea, by }));
  is('by no claim', supersede(entity), 'rejected fsm no_replacement');
  log.assert('reject', milk);
  is('by a Rejected one', supersede(milk), 'applied');
  log.assert('pin', tea);
  log.machine('TombstoneEvidence', { evidence: mail });
  is('falls, pinned as it is', log.now(tea), `claim Stale pinned cascaded by=${milk.id} number=1000000`);
  log.assert('confirm', tea);
  is('confirmed', log.now(tea), `claim Fact pinned byUser by=${milk.id} number=1000000`);
  is('is pinned, and a Fact', log.outcome(log.machine('UpdateClaimConfidence', { claim: tea, confidence: 1 })), 'rejected frozen fact_frozen');
  log.assert('reject', tea);
  is('rejected', log.now(tea), `claim Rejected byUser by=${milk.id} number=1000000`);
  log.assert('pin', tea);
  is('both, and a status', supersede(milk), 'rejected frozen pinned');
});

story('what falls, and what had fallen', (log, is) => {
  const trip = log.machine('CreateEpisode', { title: 'trip' });
  const photo = log.machine('CreateArtifact', { artifact_type: 'jpg', supports: [trip] });
  const tea = log.machine('CreateClaim', claim('tea', { supports: [photo] }));
  const tour = log.machine('CreateEpisode', { title: 'tour', supports: [tea] });
  log.machine('UpdateEpisode', { episode: trip, status: 'Stale' });
  is('with an episode', [photo, tea, tour].map((op) => log.now(op)), [
    'artifact Stale cascaded', 'claim Stale cascaded number=1000000', 'episode Stale cascaded']);
  is('out of Stale, by a machine', log.outcome(log.machine('UpdateEpisode', { episode: tour, status: 'Archived', title: 'x' })), 'rejected fsm by_user_only');
  log.user('UpdateEpisode', { episode: tour, status: 'Archived' });
  log.user('UpdateEpisode', { episode: tour, status: 'Stale' });
  log.user('UpdateEpisode', { episode: tour, status: 'Archived' });
  log.assert('confirm', tea);
  log.machine('EvictArtifact', { artifact: photo });
  is('a Stale artifact invalidates nothing', [log.now(photo), log.now(tour)], ['artifact Evicted', 'episode Archived byUser']);
  const pdf = log.machine('CreateArtifact', { artifact_type: 'pdf' });
  const call = log.machine('CreateSuggestedAction', { title: 'call', supports: [pdf] });
  log.user('UpdateActionStatus', { action: call, status: 'Approved' });
  log.machine('EvictArtifact', { artifact: pdf });
  is('a Fresh one does', [log.now(call), log.outcome(log.machine('EvictArtifact', { artifact: pdf }))], [
    'action Rejected cascaded', 'rejected fsm no_move']);
  log.assert('confirm', call);
  is('the user brings it back', log.now(call), 'action Approved byUser');
});

story('an Archived episode on what was lost', (log, is) => {
  const mail = log.machine('IngestEvidence', evidence());
  const trip = log.machine('CreateEpisode', { title: 'trip', supports: [mail] });
  log.machine('TombstoneEvidence', { evidence: mail });
  log.user('UpdateEpisode', { episode: trip, status: 'Archived' });
  log.user('UpdateEpisode', { episode: trip, title: 'x' });
  const again = { episode: trip, status: 'Active', title: 'y' };
  is('by a machine, that the user Archived it', log.outcome(log.machine('UpdateEpisode', again)), 'rejected frozen user_decided');
  is('by a user', [log.outcome(log.user('UpdateEpisode', again)), log.now(trip)], ['applied', `episode Active byUser origin=${log.ops[6].id}`]);
  log.user('UpdateEpisode', { episode: trip, status: 'Stale' });
  log.assert('pin', trip);
  log.assert('reject', trip);
  is('reject leaves the pin', log.now(trip), `episode Stale pinned byUser origin=${log.ops[6].id}`);
});

story('an action, by a user', (log, is) => {
  const call = log.machine('CreateSuggestedAction', { title: 'call' });
  const act = (by, status) => log.outcome(log.op(by, 'UpdateActionStatus', { action: call, status }));
  is('to Proposed', act('machine', 'Proposed'), 'rejected fsm status_not_settable');
  act('user', 'Approved');
  is('to Proposed, after the user', act('machine', 'Proposed'), 'rejected frozen user_decided');
  act('user', 'Executing');
  is('is not taken from the user', act('machine', 'Expired'), 'rejected frozen user_decided');
  is('goes on all the same', [act('machine', 'Failed'), log.now(call)], ['applied', 'action Failed']);
});

story('two bad supports', (log, is) => {
  const entity = log.machine('CreateEntity', { name: 'B' });
  const nobody = Buffer.alloc(16, 255);
  const create = (supports) => log.outcome(log.machine('CreateClaim', claim('tea', { supports })));
  is('type first', create([entity, nobody]), 'rejected unknown_target support_type');
  is('missing first', create([nobody, entity]), 'rejected unknown_target support_missing');
  log.assert('lane', log.machine('CreateClaim', claim('tea')), { value: 'block' });
  is('and a blocked lane', create([entity]), 'rejected unknown_target support_type');
  const later = { id: `${'f'.repeat(31)}e`, hash: '', stands: false };
  log.machine('CreateEpisode', { title: 'x' }, { id: later.id, stands: false });
  is('in the log, but later', create([later]), 'rejected unknown_target support_missing');
});

story('lanes of claims with all there is', (log, is) => {
  const text = log.machine('CreateClaim', { text: 'x', domain: 'food' });
  log.assert('lane', text, { value: 'block' });
  is('the pair is the lane', log.outcome(log.machine('CreateClaim', claim('tea', { domain: 'food' }))), 'applied');
  const rum = log.assert('edit', text, { value: 'rum' });
  log.assert('lane', rum, { value: 'allow' });
  is('an edited text keeps its domain', log.now(settingId('lane', 'food')), 'lane Allowed');
  const keyed = claim('tea', { idempotency_key: 'k' });
  const first = log.machine('CreateClaim', keyed);
  log.assert('lane', log.ops[2], { value: 'block' });
  const second = log.machine('CreateClaim', keyed);
  is('what exists is not asked for its lane', [log.outcome(first), log.outcome(second)], ['applied', 'applied']);
});

story('edited claims in conflict', (log, is) => {
  const tea = log.machine('CreateClaim', claim('tea'));
  const other = log.machine('CreateClaim', claim('tea'));
  const dispute = () => log.outcome(log.machine('UpdateClaimStatus', { claim: other, status: 'Disputed' }));
  is('not yet', dispute(), 'rejected fsm no_conflict');
  log.assert('edit', tea, { value: 'tea' });
  is('edited to the same', dispute(), 'rejected fsm no_conflict');
  log.assert('edit', tea, { value: 'milk' });
  is('edited to another', dispute(), 'applied');
});

story('entities', (log, is) => {
  const acme = log.machine('CreateEntity', { name: 'Acme' });
  const labs = log.machine('SplitEntity', { entity: acme, names: ['Labs'] });
  is('split', [log.now(labs), log.history(acme).length], ['entity Present', 2]);
  log.assert('hide', labs);
  is('hidden', log.now(labs), 'entity Present hidden');
  log.machine('MergeEntities', { entity: labs, into: acme });
  is('merged, and hidden still', log.history(labs), ['entity Present @1', 'entity Present hidden @2', 'entity Present hidden @3']);
  const trip = log.machine('CreateEpisode', { title: 'x' });
  is('into an episode', log.outcome(log.machine('MergeEntities', { entity: labs, into: trip })), 'rejected unknown_target wrong_type');
  is('no pin', log.outcome(log.assert('pin', labs)), 'rejected fsm not_for_type');
  is('another hash, before that', log.outcome(log.assert('pin', labs, { hash: HASH })), 'rejected unknown_target other_content');
  is('a wrong type, before a version', log.outcome(log.user('EvictArtifact', { artifact: labs, if_version: HASH.subarray(16) })), 'rejected unknown_target wrong_type');
  const coordinator = bytes(settingId('coordinator'));
  is('a setting that is not', log.outcome(log.assert('hide', coordinator)), 'rejected unknown_target no_target');
  log.user('DesignateCoordinator', { node: HASH });
  is('a setting', log.outcome(log.assert('hide', coordinator)), 'rejected unknown_target wrong_type');
});

story('a version that a refused op named', (log, is) => {
  const tea = log.machine('CreateClaim', claim('tea'));
  const version = { claim: tea, if_version: tea };
  is('refused', log.outcome(log.machine('UpdateClaimStatus', { ...version, status: 'Disputed' })), 'rejected fsm no_conflict');
  is('not taken by that', log.outcome(log.machine('UpdateClaimConfidence', { ...version, confidence: 1 })), 'applied');
  is('an older version, not taken', log.outcome(log.assert('pin', tea, { if_version: log.ops[2] })), 'applied');
});

story('a threshold that is met', (log, is) => {
  log.user('SetMeshRules', { rules: { claim_threshold: 700000 } });
  is('below', log.now(log.machine('CreateClaim', claim('tea', { confidence: 699999 }))), 'claim Hint number=699999');
  is('met', log.now(log.machine('CreateClaim', claim('tea', { confidence: 700000 }))), 'claim Claim number=700000');
});

story('schema', (log, is) => {
  const tea = log.machine('CreateClaim', claim('tea'));
  const mail = log.machine('IngestEvidence', evidence());
  const refused = (kind, fields) => is(`${kind} ${JSON.stringify(fields)}`, log.outcome(log.user(kind, fields)), 'rejected schema');
  refused('CreateClaim', claim('tea', { domain: null }));
  refused('CreateClaim', claim('tea', { confidence: 1000001 }));
  refused('CreateClaim', claim('tea', { confidence: {} }));
  refused('CreateClaim', claim('tea', { supports: [mail, mail] }));
  refused('CreateClaim', { subject: 'ann', predicate: 'likes' });
  refused('CreateClaim', claim(''));
  refused('ScheduleJob', { kind: 'k', lease_ms: 999 });
  refused('ScheduleJob', { kind: 'k', attempts: 0 });
  refused('ScheduleJob', { kind: 'k', commit: 'all' });
  refused('UserAssert', { about: tea, assert: 'confirm', value: true });
  refused('UserAssert', { about: tea, assert: 'pin', value: 1 });
  refused('UserAssert', { about: tea, assert: 'bless' });
  refused('UpdateClaimStatus', { claim: tea, status: 'Claim', if_version: HASH });
  refused('UpdateEpisode', { episode: tea });
  refused('SetMeshRules', { rules: {} });
  refused('SetMeshRules', { rules: { fold_version: 0 } });
  refused('IngestEvidence', evidence({ size: 1073741825 }));
  refused('SplitEntity', { entity: tea, names: ['a', 'a'] });
  is('fields that mean nothing', log.outcome(log.user('CreateClaim', claim('tea', { other: null, if_version: 1 }))), 'applied');
});
