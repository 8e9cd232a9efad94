import { scramVerifier } from './scram.ts';

describe('the verifier of a password', () => {
  it('is not made of what would have to be prepared first', () => {
    expect(() => scramVerifier('päss')).toThrow(/ASCII/);
  });
});
