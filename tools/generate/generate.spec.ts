import { driftedFiles } from './main.ts';

describe('generated files', () => {
  it('are what the zod declarations say now', () => {
    expect(driftedFiles()).toEqual([]);
  });
});
