// The machines of claims.md and jobs.md: where an event leads.

import { MACHINES } from './chapters.mjs';
import { Refusal } from './refusal.mjs';

// The rule that is named where a guard does not hold.
const RULES = {
  above_threshold: 'below_threshold',
  may_surface: 'lane_confirm',
  conflict: 'no_conflict',
  replacement: 'no_replacement',
  by_user: 'by_user_only',
};

const NOTHING_YET = '[*]';

function holds(guards, name) {
  if (guards[name] === undefined) throw new Error(`nobody says whether ${name} holds`);
  return guards[name];
}

// {to}, or {rule} that refuses. `guards` says of each guard whether it holds. Of several moves the first whose guards
// hold is made; the guard that refuses is one of the last.
export function move(machine, from, event, guards = {}) {
  const moves = MACHINES.get(machine).filter((one) => one.from === from && one.event === event);
  const open = moves.find((one) => one.guards.every((name) => holds(guards, name)));
  if (open !== undefined) return { to: open.to };
  if (moves.length === 0) return { rule: 'no_move' };
  return { rule: RULES[moves.at(-1).guards.find((name) => !holds(guards, name))] };
}

export function moveOrRefuse(machine, from, event, guards) {
  const { to, rule } = move(machine, from, event, guards);
  if (to === undefined) throw new Refusal('fsm', rule);
  return to;
}

export const firstStatus = (machine, guards) => move(machine, NOTHING_YET, 'created', guards).to;
