// vectors.mjs - the known answers in spec/vectors, judged by this reader.

import { readFileSync } from 'node:fs';
import { check, totals } from './_check.mjs';
import { bytesOf } from './_make.mjs';
import { isSigned, Log, readSegment } from './log.mjs';
import { checkCanonical } from './msgpack.mjs';
import { checkAuthor, hex, idText, nodePart, payloadState, readOp } from './op.mjs';
import { fromBytes, readBundle } from './read-bundle.mjs';
import { refuse } from './refusal.mjs';

const FOLDER = new URL('../../spec/vectors/', import.meta.url);

const path = (name) => new URL(`${name}.json`, FOLDER);

function each(name, judge) {
  for (const vector of JSON.parse(readFileSync(path(name)))) judge(vector, `${name}: ${vector.why}`);
}

each('ids', (vector, what) => {
  check(what, [vector.id, vector.text], () => {
    const id = Buffer.alloc(8);
    id.writeUIntBE(vector.wall_ms, 0, 6);
    id.writeUInt16BE(vector.counter, 6);
    const whole = hex(Buffer.concat([id, nodePart(bytesOf(vector.author))]));
    return [whole, idText(whole)];
  });
});

each('values', (vector, what) => {
  check(what, vector.error, () => checkCanonical(bytesOf(vector.msgpack)) ?? null);
});

each('payloads', (vector, what) => {
  check(what, vector.state ?? vector.error, () => (
    payloadState(bytesOf(vector.payload), vector.size, bytesOf(vector.digest))));
});

each('ops', (vector, what) => {
  const { header, sig, hash, version, kind, id, seq, prev, deps, size } = vector;
  check(what, vector.error ?? { header, sig, hash, version, kind, id, seq, prev, deps, size }, () => {
    const op = readOp(bytesOf(vector.op));
    const author = bytesOf(vector.author);
    checkAuthor(op, author);
    payloadState(op.payload, op.size, op.digest);
    if (!isSigned(op, bytesOf(vector.mesh), author)) refuse('bad_signature');
    return {
      header: hex(op.header), sig: hex(op.sig), hash: op.hash, version: op.v, kind: op.kind, id: op.id,
      seq: Number(op.seq), prev: op.prev, deps: op.deps, size: op.size,
    };
  });
});

each('segments', (vector, what) => {
  check(what, vector.error ?? vector.hashes, () => {
    const { author, ops } = readSegment(bytesOf(vector.segment));
    if (!isSigned(ops.at(-1), bytesOf(vector.mesh), author)) refuse('bad_signature');
    return ops.map((op) => op.hash);
  });
});

// Ids and hashes of a log, in the order of the mesh.
const listOps = (log) => [...log.ops.values()].map(({ id, hash }) => `${id} ${hash}`).sort();

each('chains', (vector, what) => {
  const log = new Log(bytesOf(vector.mesh), vector.now_ms);
  vector.deliveries.forEach(({ segment, error, appended, duplicate, parked }, i) => {
    check(`${what}: delivery ${i}`, error ?? { appended, duplicate, parked }, () => log.take(bytesOf(segment)));
  });
  const inLog = vector.ops.filter((op) => op.reason !== 'future_dated');
  check(`${what}: ops`, inLog.map(({ id, hash }) => `${id} ${hash}`).sort(), () => listOps(log));
  check(`${what}: frontier`, vector.frontier, () => log.digest());
});

each('bundles', (vector, what) => {
  const { mesh, now_ms: now, error, ops, duplicate, hashes } = vector;
  check(what, { error, ops, duplicate, hashes }, () => {
    const read = readBundle(fromBytes(bytesOf(vector.bundle)), { mesh: bytesOf(mesh), now });
    const taken = [...(read.log?.ops.keys() ?? [])]; // In the order of their arrival
    return { error: read.error, ops: read.appended, duplicate: read.duplicate, hashes: taken };
  });
});

totals();
