// Segments and the log that they build up (spec/chains.md).

import { readKey, verify } from './ed25519.mjs';
import { admits, checkAuthor, hash256, hex, idText, payloadState, readOp, signedMessage } from './op.mjs';
import { refuse } from './refusal.mjs';

const SEGMENT_OPS_MAX = 256;
const SEGMENT_SIZES_MAX = 1048576;
const OP_MAX = 4096 + 66 + 65536 + 205;
const AHEAD_MS = 60000;
const PARKED_MAX = 4194304;
const ABANDON = 6;

// The author and the bytes of each op.
function readFrame(bytes) {
  if (bytes.length < 34) refuse('truncated');
  const count = bytes.readUInt16BE(32);
  if (count === 0) refuse('malformed');
  if (count > SEGMENT_OPS_MAX) refuse('too_large');
  const ops = [];
  let at = 34;
  while (ops.length < count) {
    if (at + 4 > bytes.length) refuse('truncated');
    const length = bytes.readUInt32BE(at);
    if (length > OP_MAX) refuse('too_large');
    at += 4;
    if (at + length > bytes.length) refuse('truncated');
    ops.push(bytes.subarray(at, at + length));
    at += length;
  }
  if (at !== bytes.length) refuse('trailing');
  return { author: bytes.subarray(0, 32), ops };
}

function checkPlace(op, before) {
  if (op.prev.length !== 1 || op.prev[0] !== before.hash) refuse('bad_prev');
  if (op.seq !== before.seq + 1n) refuse('bad_prev');
  if (op.id <= before.id) refuse('bad_id');
}

// A segment by its bytes alone, without its signature.
export function readSegment(bytes) {
  const frame = readFrame(bytes);
  const ops = [];
  let sizes = 0;
  for (const opBytes of frame.ops) {
    const op = readOp(opBytes);
    checkAuthor(op, frame.author);
    if (ops.length > 0) checkPlace(op, ops.at(-1));
    sizes += op.size;
    if (sizes > SEGMENT_SIZES_MAX) refuse('too_large');
    op.state = payloadState(op.payload, op.size, op.digest);
    op.length = opBytes.length;
    ops.push(op);
  }
  return { author: frame.author, ops };
}

export function isSigned(op, mesh, author) {
  return op.signature.length === 64 && verify(op.signature, signedMessage(mesh, op), author);
}

const wallMs = (op) => parseInt(op.id.slice(0, 12), 16);

export class Log {
  // `now`: the wall clock in ms; without one nothing is ahead.
  constructor(mesh, now = Infinity) {
    Object.assign(this, { mesh, now });
    this.ops = new Map(); // hash → op
    this.authors = new Map(); // author → { ops, heads: Set of hashes, abandons, parked: hash → bytes }
  }

  // Takes a segment, or refuses it and changes nothing.
  take(bytes) {
    const { held, ...result } = this.offer(bytes);
    if (held > 0 && result.appended === 0) refuse('limit');
    return result;
  }

  // The same, but what finds no room to park is no refusal: `held` counts it.
  offer(bytes) {
    const { author, ops } = readSegment(bytes);
    const name = hex(author);
    if (!this.authors.has(name) && ops[0].seq !== 1n) refuse('unknown_author');

    const fresh = ops.filter((op) => !this.ops.has(op.hash));
    const result = { appended: 0, duplicate: ops.length - fresh.length, parked: 0, held: 0 };
    if (fresh.length === 0) return result;
    const [first] = fresh;
    if (first.seq === 1n && !(admits(first, author) && readKey(author))) refuse('unknown_author');
    const signed = () => isSigned(fresh.at(-1), this.mesh, author) || refuse('bad_signature');
    if (first.prev.length > 1) signed();
    this.checkPrev(first, name);
    if (first.prev.length <= 1) signed();

    const taken = fresh.slice(0, this.notAhead(fresh, author));
    for (const op of taken) this.add(op, name);
    const rest = fresh.slice(taken.length);
    const isParked = rest.length === 0 || this.park(rest, name);
    return { ...result, appended: taken.length, [isParked ? 'parked' : 'held']: rest.length };
  }

  // Is there room for these, or are they parked already? Nobody parks before being admitted.
  park(ops, name) {
    const parked = this.authors.get(name)?.parked;
    const last = ops.at(-1).hash;
    if (!parked || parked.has(last)) return Boolean(parked);
    const bytes = ops.reduce((sum, op) => sum + 4 + op.length, 34);
    const all = [...parked.values()].reduce((sum, one) => sum + one, bytes);
    if (all > PARKED_MAX) return false;
    parked.set(last, bytes);
    return true;
  }

  checkPrev(op, author) {
    const found = op.prev.map((hash) => this.ops.get(hash));
    if (!found.every((prev) => prev?.author === author)) refuse('gap');
    if (found.length === 1 && found[0].seq + 1n !== op.seq && !this.isHead(found[0])) refuse('gap');
    if (found.some((prev) => prev.id >= op.id)) refuse('bad_id');
    const greatest = found.reduce((seq, prev) => (prev.seq > seq ? prev.seq : seq), 0n);
    if (op.seq !== greatest + 1n) refuse('bad_prev');
  }

  // How many of these ops are not parked.
  notAhead(ops, author) {
    const ahead = (op) => wallMs(op) > this.now + AHEAD_MS;
    if (!ahead(ops.at(-1))) return ops.length;
    return ops.findLastIndex((op) => !ahead(op) && isSigned(op, this.mesh, author)) + 1;
  }

  isHead(op) {
    return this.authors.get(op.author).heads.has(op.hash);
  }

  // Keeps what later checks and the frontier need of an op.
  add({ hash, id, seq, prev, kind, known }, author) {
    const op = { author, hash, id, seq, prev, kind };
    if (!this.authors.has(author)) {
      this.authors.set(author, { ops: 0, heads: new Set(), abandons: [], parked: new Map() });
    }
    const { heads, abandons } = this.authors.get(author);
    this.authors.get(author).ops++;
    this.ops.set(hash, op);
    prev.forEach((one) => heads.delete(one));
    heads.add(hash);
    if (kind === ABANDON && known) abandons.push(op);
  }

  descends(op, from) {
    const seen = new Set();
    const open = [op.hash];
    while (open.length > 0) {
      const hash = open.pop();
      if (hash === from.hash) return true;
      const { seq, prev } = this.ops.get(hash);
      if (seen.has(hash) || seq <= from.seq) continue;
      seen.add(hash);
      open.push(...prev);
    }
    return false;
  }

  // Does it stand on a branch that its author has left? A control op counts all the same; whether
  // the author may do that (spec/authority.md) is not asked.
  isAbandoned(op) {
    const { abandons } = this.authors.get(op.author);
    return abandons.some((abandon) => op.id > abandon.id && !this.descends(op, abandon));
  }

  // Authors with their heads' hashes, both ascending.
  frontier() {
    const names = [...this.authors.keys()].sort();
    return names.map((author) => [author, [...this.authors.get(author).heads].sort()]);
  }

  // The hash that is equal for equal sets of ops.
  digest() {
    const names = this.frontier().flat(2);
    return hex(hash256(Buffer.from('meshlog frontier 1'), ...names.map((name) => Buffer.from(name, 'hex'))));
  }

  ids() {
    return [...this.ops.values()].map((op) => op.id).sort().map(idText);
  }
}
