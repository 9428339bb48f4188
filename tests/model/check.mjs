// What the self-test counts.

import { Story } from './story.mjs';

let passed = 0;
let failed = 0;

const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

export function same(what, got, want) {
  if (asText(got) === asText(want)) {
    passed++;
    return;
  }
  failed++;
  console.log(`FAILED: ${what}\n  got:  ${asText(got)}\n  want: ${asText(want)}`);
}

// A log written by hand, and what becomes of it: tell(log, is).
export function story(name, tell) {
  tell(new Story(), (what, got, want) => same(`${name}: ${what}`, got, want));
}

// The last line; true if nothing failed.
export function totals() {
  console.log(`${passed} passed, ${failed} failed, 0 skipped`);
  return failed === 0;
}
