// Counts what holds and what does not, as tests/scripts/_check.sh does.

import { isDeepStrictEqual } from 'node:util';
import { Refusal } from './refusal.mjs';

const counts = { passed: 0, failed: 0 };

// One test: what `get` returns, or the code of its refusal, is `want`.
export function check(what, want, get) {
  let got;
  try {
    got = get();
  } catch (fault) {
    got = fault instanceof Refusal ? fault.code : fault.stack;
  }
  const holds = isDeepStrictEqual(got, want);
  counts[holds ? 'passed' : 'failed']++;
  if (!holds) console.log(`FAILED: ${what}\n  got: `, got, '\n  want:', want);
}

// The last line; call it last.
export function totals() {
  console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
}
