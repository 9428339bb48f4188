// Is a payload as spec/ops.md says, "Payloads of records"?

import { FIELDS } from './chapters.mjs';

const TWO_TO_53 = 1n << 53n;
const GIB = 1n << 30n;

const isWhole = (value, from, to) => typeof value === 'bigint' && value >= from && value <= to;
const isBytes = (value, length) => Buffer.isBuffer(value) && value.length === length;
const isText = (value, max) => typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= max;
const isName = (value) => isText(value, 256);
const isCount = (value) => isWhole(value, 0n, TWO_TO_53);
const isPpm = (value) => isWhole(value, 0n, 1000000n);
const isMap = (value) => value instanceof Map && !value.has('/');
const isMapOfNames = (value, max) => isMap(value) && value.size >= 1 && value.size <= max && [...value.keys()].every(isName);
const areDifferent = (values) => new Set(values).size === values.length;

const TYPES = {
  id: (value) => isBytes(value, 16),
  hash: (value) => isBytes(value, 32),
  key: (value) => isBytes(value, 32),
  name: isName,
  text: (value) => isText(value, 16384),
  count: isCount,
  confidence: (value) => isPpm(value) || (isMapOfNames(value, 16) && [...value.values()].every(isPpm)),
  ids: (value) => Array.isArray(value) && value.length <= 256 && value.every((id) => isBytes(id, 16))
    && areDifferent(value.map((id) => id.toString('hex'))),
  names: (value) => Array.isArray(value) && value.length >= 1 && value.length <= 64 && value.every(isName) && areDifferent(value),
  flag: (value) => typeof value === 'boolean',
  any: (value) => value !== null,
};

const CREATIONS = ['CreateEntity', 'CreateClaim', 'CreateEpisode', 'CreateSuggestedAction', 'CreateArtifact', 'ScheduleJob'];

// The fields that belong to many kinds.
function commonField(kind) {
  if (CREATIONS.includes(kind)) return [{ name: 'idempotency_key', type: 'name', optional: true }];
  return kind === 'IngestEvidence' ? [] : [{ name: 'if_version', type: 'id', optional: true }];
}

const isOneOf = (value, words) => words.split(' ').includes(value);
const hasOptional = (fields, name, holds) => !fields.has(name) || holds(fields.get(name));
const isLease = (value) => isWhole(value, 1000n, 604800000n);
const isSize = (value) => isWhole(value, 0n, GIB);

function areRules(rules) {
  return isMapOfNames(rules, 64)
    && hasOptional(rules, 'claim_threshold', isPpm)
    && ['max_skew', 'erase_grace', 'lease'].every((name) => hasOptional(rules, name, isCount))
    && hasOptional(rules, 'fold_version', (value) => isWhole(value, 1n, TWO_TO_53));
}

function isClaim(fields) {
  const parts = ['subject', 'predicate', 'object'].filter((name) => fields.has(name)).length;
  return fields.has('text') ? parts === 0 : parts === 3;
}

function isUserAssert(fields) {
  const value = fields.get('value');
  switch (fields.get('assert')) {
    case 'confirm':
    case 'reject': return !fields.has('value');
    case 'edit': return TYPES.text(value);
    case 'pin':
    case 'hide': return hasOptional(fields, 'value', TYPES.flag);
    case 'lane': return isOneOf(value, 'block confirm allow');
    default: return false;
  }
}

// What no type says.
const FURTHER = {
  SetMeshRules: (fields) => areRules(fields.get('rules')),
  CreateClaim: isClaim,
  UpdateClaimStatus: (fields) => isOneOf(fields.get('status'), 'Hint Claim Fact Disputed Rejected Superseded Stale'),
  UpdateActionStatus: (fields) => isOneOf(fields.get('status'), 'Proposed Approved Executing Completed Failed Rejected Dismissed Expired'),
  UpdateEpisode: (fields) => (fields.has('status') || fields.has('title'))
    && hasOptional(fields, 'status', (status) => isOneOf(status, 'Active Stale Archived')),
  UserAssert: isUserAssert,
  ScheduleJob: (fields) => hasOptional(fields, 'lease_ms', isLease)
    && hasOptional(fields, 'attempts', (value) => isWhole(value, 1n, 1000n))
    && hasOptional(fields, 'commit', (value) => isOneOf(value, 'any coordinator')),
  ClaimWork: (fields) => hasOptional(fields, 'lease_ms', isLease),
  IngestEvidence: (fields) => isSize(fields.get('size')),
  CreateArtifact: (fields) => hasOptional(fields, 'size', isSize),
};

export function fits(kind, fields) {
  const rows = [...FIELDS.get(kind), ...commonField(kind)];
  return rows.every(({ name, type, optional }) => (fields.has(name) ? TYPES[type](fields.get(name)) : optional))
    && (FURTHER[kind] === undefined || FURTHER[kind](fields));
}

// The confidence that counts, of a field that fits.
export function smallestConfidence(value) {
  const parts = value instanceof Map ? [...value.values()] : [value];
  return Number(parts.reduce((least, part) => (part < least ? part : least)));
}

export function isKeyed(kind, fields) {
  return kind === 'IngestEvidence' ? fields.has('source_anchor') : CREATIONS.includes(kind) && fields.has('idempotency_key');
}
