#!/usr/bin/env node
// read-bundle.mjs FILE [--json|--ids] [--mesh=DID] - read a bundle (spec/bundle.md), check all that
// can be checked, and print the log's frontier, with --json as `meshlog frontier --json` does; with
// --ids the ids of all ops, in the order of the mesh. With --mesh it must be one of that mesh.
//
// A fault ends it with code 1 and one line: {"ok":false,"error":CODE,"offset":N}, where N is
// where the head, frame, end or trailing byte begins that is at fault.

import { closeSync, openSync, readSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { blake2b } from '@noble/hashes/blake2';
import { Log } from './log.mjs';
import { hex, idText } from './op.mjs';
import { Refusal, refuse } from './refusal.mjs';

const MAGIC = Buffer.from('meshlog bundle\n');
const VERSION = 1;
const SEGMENT_MAX = 2167586;
const CHECK = 16;

// Reads a bundle by `read(n)`, which gives the next n bytes, or fewer where there are no more.
class BundleReader {
  constructor(read) {
    this.read = read;
    this.offset = 0; // Of the part that is being read
    this.next = 0;
    this.check = Buffer.alloc(0);
  }

  // Call before each part.
  begin() {
    this.offset = this.next;
  }

  // The next n bytes, if there are as many.
  bytes(n) {
    const bytes = this.read(n);
    this.next += bytes.length;
    if (bytes.length < n) refuse('truncated');
    return bytes;
  }

  // The check after these bytes.
  checked(...parts) {
    const check = blake2b(Buffer.concat([this.check, ...parts]), { dkLen: CHECK });
    if (Buffer.compare(check, this.bytes(CHECK)) !== 0) refuse('malformed');
    this.check = check;
  }

  head() {
    this.begin();
    const magic = this.read(MAGIC.length);
    this.next += magic.length;
    if (magic.length === 0 || Buffer.compare(magic, MAGIC.subarray(0, magic.length)) !== 0) {
      refuse('not_a_bundle');
    }
    if (magic.length < MAGIC.length) refuse('truncated');
    const version = this.bytes(1);
    if (version[0] !== VERSION) refuse('newer_schema');
    const mesh = this.bytes(32);
    const ops = this.bytes(8);
    this.checked(magic, version, mesh, ops);
    return { mesh, ops: ops.readBigUInt64BE() };
  }

  // The next segment, or null at the end.
  segment() {
    this.begin();
    const length = this.bytes(4);
    const n = length.readUInt32BE();
    if (n > SEGMENT_MAX) refuse('too_large');
    const segment = this.bytes(n);
    this.checked(length, segment);
    return n === 0 ? null : segment;
  }

  nothingMore() {
    this.begin();
    if (this.read(1).length > 0) refuse('trailing');
  }
}

// Reads a whole bundle into a log. `mesh`: the only one that is right, if given; `now`: the wall
// clock for parking, if given. Returns { log, appended, duplicate, error, offset }: what was taken
// before a fault is in the log. `limit`, without an offset: all has been read, but something was
// held back.
export function readBundle(read, { mesh, now } = {}) {
  const reader = new BundleReader(read);
  const counts = { appended: 0, duplicate: 0, held: 0 };
  let log = null;
  try {
    const head = reader.head();
    if (mesh && Buffer.compare(mesh, head.mesh) !== 0) refuse('wrong_mesh');
    log = new Log(head.mesh, now);
    let ops = 0n;
    for (let segment; (segment = reader.segment()) !== null;) {
      ops += BigInt(segment.length < 34 ? 0 : segment.readUInt16BE(32));
      const result = log.offer(segment);
      for (const name of Object.keys(counts)) counts[name] += result[name];
    }
    if (ops !== head.ops) refuse('malformed');
    reader.nothingMore();
    return { log, ...counts, error: counts.held > 0 ? 'limit' : null };
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    return { log, ...counts, error: fault.code, offset: reader.offset };
  }
}

// `read` for bytes in memory.
export function fromBytes(bytes) {
  let at = 0;
  return (n) => {
    const part = bytes.subarray(at, at + n);
    at += part.length;
    return part;
  };
}

function fromFile(file) {
  return (n) => {
    const bytes = Buffer.alloc(n);
    let got = 0;
    for (let more; got < n && (more = readSync(file, bytes, got, n - got, null)) > 0;) got += more;
    return bytes.subarray(0, got);
  };
}

// A key as did:key: base58 of ed 01 and the key.
const DID = 'did:key:z';
const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function did(key) {
  let number = BigInt('0xed01' + hex(key));
  let text = '';
  for (; number > 0n; number /= 58n) text = BASE58[Number(number % 58n)] + text;
  return DID + text;
}

function keyOf(text) {
  const digits = [...text.slice(DID.length)].map((digit) => BigInt(BASE58.indexOf(digit)));
  const number = digits.reduce((sum, digit) => sum * 58n + digit, 0n);
  return Buffer.from(number.toString(16).slice('ed01'.length), 'hex');
}

// In the shape of `meshlog frontier --json`.
export function frontierJson(log) {
  const head = (hash) => {
    const op = log.ops.get(hash);
    return { seq: Number(op.seq), hash, id: idText(op.id), abandoned: log.isAbandoned(op) };
  };
  const authors = log.frontier().map(([author, heads]) => (
    { author: did(Buffer.from(author, 'hex')), ops: log.authors.get(author).ops, heads: heads.map(head) }));
  return { ok: true, mesh: did(log.mesh), ops: log.ops.size, log: log.digest(), authors };
}

function printPlain({ mesh, ops, log, authors }) {
  console.log(`mesh ${mesh}\nops  ${ops}\nlog  ${log}`);
  for (const { author, ops: count, heads } of authors) {
    console.log(`${author}  ${count} ops`);
    for (const { seq, hash, id } of heads) console.log(`  ${id}  seq ${seq}  ${hash}`);
  }
}

function main(args) {
  const MESH = '--mesh=';
  const mesh = args.find((arg) => arg.startsWith(MESH));
  const options = args.filter((arg) => arg.startsWith('--') && arg !== mesh);
  const files = args.filter((arg) => !arg.startsWith('--'));
  if (files.length !== 1 || options.some((option) => !['--json', '--ids'].includes(option))) {
    console.error('usage: read-bundle.mjs FILE [--json|--ids] [--mesh=DID]');
    return 2;
  }
  const file = openSync(files[0]);
  const { log, error, offset } = readBundle(fromFile(file), { mesh: mesh && keyOf(mesh.slice(MESH.length)) });
  closeSync(file);
  if (error) {
    console.log(JSON.stringify({ ok: false, error, offset }));
    return 1;
  }
  if (options.includes('--ids')) console.log(log.ids().join('\n'));
  else if (options.includes('--json')) console.log(JSON.stringify(frontierJson(log)));
  else printPlain(frontierJson(log));
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = main(process.argv.slice(2));
