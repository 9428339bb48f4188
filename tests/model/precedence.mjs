// What a user has settled holds against machines (spec/claims.md, "Precedence of the user").

const CLOSED_BY_FACT = ['UpdateClaimStatus', 'UpdateClaimConfidence', 'SupersedeClaim'];

// An action that the user Approved goes on by machines.
const GOES_ON = { Approved: ['Executing'], Executing: ['Completed', 'Failed'] };

// `status`: what the op would set, if it sets one.
export function respectUser(step, { type, state }, status) {
  if (step.op.user) return;
  if (type === 'claim' && state.status === 'Fact' && CLOSED_BY_FACT.includes(step.op.kindName)) step.refuse('fact_frozen', 'frozen');
  if (state.pinned) step.refuse('pinned', 'frozen');
  const goesOn = type === 'action' && GOES_ON[state.status]?.includes(status);
  if (state.byUser && status !== undefined && !goesOn) step.refuse('user_decided', 'frozen');
}
