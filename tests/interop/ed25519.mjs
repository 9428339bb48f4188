// Ed25519 as libsodium verifies it (spec/op.md, "Signature"). Packages multiply by the
// cofactor and let more pass, so the equation is written out here: R = S·B − k·A, without the
// cofactor, compared as bytes, which also refuses every R that is not canonical.

import { ed25519 } from '@noble/curves/ed25519';
import { sha512 } from '@noble/hashes/sha2';

const { Point } = ed25519;
const ORDER = Point.Fn.ORDER;

function littleEndian(bytes) {
  return BigInt('0x' + Buffer.from(bytes).reverse().toString('hex'));
}

const points = new Map(); // Of the keys met before: to check one takes as long as a signature.

// The point of a key that may sign: canonical, of the main subgroup and not its neutral
// element; null for any other.
export function readKey(key) {
  const name = Buffer.from(key).toString('hex');
  if (!points.has(name)) points.set(name, readPoint(name));
  return points.get(name);
}

function readPoint(name) {
  try {
    const point = Point.fromHex(name, false);
    return point.isTorsionFree() && !point.is0() ? point : null;
  } catch {
    return null;
  }
}

export function verify(signature, message, key) {
  const A = readKey(key);
  const S = littleEndian(signature.subarray(32));
  if (A === null || S >= ORDER) return false;
  const R = signature.subarray(0, 32);
  const k = littleEndian(sha512(Buffer.concat([R, key, message]))) % ORDER;
  const expected = (S === 0n ? Point.ZERO : Point.BASE.multiply(S)).subtract(A.multiplyUnsafe(k));
  return !expected.isSmallOrder() && Buffer.compare(expected.toBytes(), R) === 0;
}
