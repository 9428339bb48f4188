// Thrown where an op is rejected. `kept`: what it has changed until then is kept all the same.
export class Refusal extends Error {
  constructor(reason, rule, { kept = false } = {}) {
    super(rule === undefined ? reason : `${reason} ${rule}`);
    this.kept = kept;
  }
}
