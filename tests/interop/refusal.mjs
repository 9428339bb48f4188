// A refusal carries the code that the specification gives to what is wrong.

export class Refusal extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

export function refuse(code) {
  throw new Refusal(code);
}
