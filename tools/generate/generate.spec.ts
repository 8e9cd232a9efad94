import { acceptedChanges, apiOfSources, changesSinceRelease, unexplained } from '../compatibility/released-api.ts';
import { driftedFiles } from './main.ts';

describe('generated files', () => {
  it('are what the zod declarations say now', () => {
    expect(driftedFiles()).toEqual([]);
  });

  it('break no user of the last release without a reason that is listed', () => {
    expect(unexplained(changesSinceRelease(apiOfSources()), acceptedChanges())).toEqual([]);
  });
});
