import { type AttemptRestore, describeRestore } from './attempt-restore.ts';

describe('a restore', () => {
  it.each<[what: string, restore: AttemptRestore, want: string]>([
    [
      'names the last loss before it and the first after it',
      { lossBefore: 2.10449, stepBefore: 100, lossAfter: 2.5, stepAfter: 81, notKept: [] },
      'Loss 2.104 at step 100 before the restore, 2.5 at step 81 after it. Its files show nothing that was not restored exactly.',
    ],
    [
      'names what was not kept',
      { lossBefore: 2, stepBefore: 9, notKept: ['Random states are new.'] },
      'Loss 2 at step 9 before the restore. Random states are new.',
    ],
    ['compares no loss if none was reported before it', { lossAfter: 2, stepAfter: 9 }, ''],
    ['says nothing of an earlier release', {}, ''],
  ])('%s', (_what, restore, want) => {
    expect(describeRestore(restore)).toBe(want);
  });
});
