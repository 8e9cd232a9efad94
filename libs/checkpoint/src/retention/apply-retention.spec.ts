import type { RetentionPolicy } from '@coxswain/api-types';
import fc from 'fast-check';
import { LEVELS } from '../verify/finding.ts';
import { applyRetention, isVerified, type RetainedSave } from './apply-retention.ts';

const SOUND = { level: 'V2', verdict: 'sound' } as const;

/** A verified save of step 100 times its number. */
const save = (number: number, more: Partial<RetainedSave> = {}): RetainedSave => ({
  name: `s${String(number)}`,
  step: number * 100,
  layout: 'tp2',
  verification: SOUND,
  ...more,
});
const saves = (count: number, more: Readonly<Record<number, Partial<RetainedSave>>> = {}): readonly RetainedSave[] =>
  Array.from({ length: count }, (_, index) => save(index + 1, more[index + 1]));
const damaged = { verification: { level: 'V1', verdict: 'damaged' } } as const;
const unverified = { verification: { level: 'V1', verdict: 'sound' } } as const;

describe('retention deletes', () => {
  it.each<[string, readonly RetainedSave[], RetentionPolicy | undefined, readonly string[]]>([
    ['nothing without a policy', saves(9), undefined, []],
    ['what is older than the newest verified saves', saves(5), { keepNewestVerified: 2 }, ['s1', 's2', 's3']],
    [
      'nothing if too few saves are verified',
      saves(5, { 1: unverified, 2: unverified, 4: unverified }),
      { keepNewestVerified: 3 },
      [],
    ],
    [
      'no save that is newer than one that stays',
      saves(4, { 3: unverified, 4: damaged }),
      { keepNewestVerified: 2 },
      [],
    ],
    [
      'an old save that is damaged or not verified',
      saves(4, { 1: unverified, 2: damaged }),
      { keepNewestVerified: 2 },
      ['s1', 's2'],
    ],
    [
      'nothing by the word of a verification that read no envelope',
      saves(3, { 1: unverified, 2: unverified, 3: unverified }),
      { keepNewestVerified: 1 },
      [],
    ],
    [
      'nothing by a save whose content cannot be verified',
      saves(2, { 2: { verification: { level: 'V3', verdict: 'unverifiable' } } }),
      { keepNewestVerified: 1 },
      [],
    ],
    [
      'no adopted, pinned or leased save',
      saves(5, { 1: { isAdopted: true }, 2: { pin: 'paper' }, 3: { leases: ['job b'] } }),
      { keepNewestVerified: 1 },
      ['s4'],
    ],
    [
      'no newest verified save of a layout',
      saves(5, { 1: { layout: 'tp4' }, 2: { layout: 'tp4' } }),
      { keepNewestVerified: 1 },
      ['s1', 's3', 's4'],
    ],
    [
      'a newer save of a layout that is damaged, before the last good one',
      saves(5, { 1: { layout: 'tp4' }, 2: { layout: 'tp4', ...damaged } }),
      { keepNewestVerified: 1 },
      ['s2', 's3', 's4'],
    ],
    [
      'nothing that a save that stays began from',
      saves(5, { 5: { base: 's3' }, 3: { base: 's1' }, 4: { base: 's2' } }),
      { keepNewestVerified: 1 },
      ['s2', 's4'],
    ],
    [
      'all but the first good save of each interval',
      saves(7, { 3: damaged }),
      { keepNewestVerified: 1, keepEverySteps: 300 },
      ['s2', 's3', 's5'],
    ],
    [
      'all but the saves of the lowest loss',
      saves(6, { 1: { loss: 3 }, 2: { loss: 1 }, 3: { loss: NaN }, 4: { loss: 2, ...unverified }, 5: { loss: 2 } }),
      { keepNewestVerified: 1, keepBestByLoss: 2 },
      ['s1', 's3', 's4'],
    ],
    [
      'by the order of saving, not by steps: a user went back',
      [save(1), save(5), save(2), save(3)],
      { keepNewestVerified: 2 },
      ['s1', 's5'],
    ],
  ])('%s', (_what, all, policy, deleted) => {
    expect(applyRetention(all, policy).delete).toEqual(deleted);
  });

  it('and says of each other save why it stays', () => {
    const all = saves(4, {
      1: { pin: 'the paper', leases: ['job b resumes from it'] },
      4: { base: 's2', layout: 'tp8' },
    });
    expect(applyRetention(all, { keepNewestVerified: 1, keepEverySteps: 1000 }).keep).toEqual([
      {
        name: 's1',
        because: [
          'it is the first good save of its 1000 steps',
          'it is pinned: the paper',
          'it is in use: job b resumes from it',
        ],
      },
      { name: 's2', because: ['s4 began from it'] },
      { name: 's3', because: ['it is the newest verified save of its layout'] },
      {
        name: 's4',
        because: ['fewer than 1 newer saves are verified', 'it is the newest verified save of its layout'],
      },
    ]);
  });
});

describe('for every set of saves and every policy, retention', () => {
  const verification = fc.record({
    level: fc.constantFrom(...LEVELS),
    verdict: fc.constantFrom('sound', 'sound', 'damaged', 'incomplete', 'suspect', 'unverifiable'),
  });
  const anySave = fc.record(
    {
      step: fc.nat(30),
      layout: fc.constantFrom('a', 'b', 'c'),
      verification,
      loss: fc.oneof(fc.nat(5), fc.constant(NaN)),
      isAdopted: fc.constantFrom(false, false, false, true),
      pin: fc.constantFrom('a reason'),
      base: fc.nat(12).map((index) => `s${String(index)}`),
    },
    { requiredKeys: ['step', 'layout'] },
  );
  const anySaves = fc.array(anySave, { maxLength: 12 }).map((all) =>
    all.map(({ pin, ...rest }, index): RetainedSave => ({
      ...rest,
      name: `s${String(index)}`,
      ...(pin && index % 5 === 0 && { pin }),
    })),
  );
  const anyPolicy = fc.record(
    {
      keepNewestVerified: fc.integer({ min: 1, max: 4 }),
      keepEverySteps: fc.integer({ min: 1, max: 12 }),
      keepBestByLoss: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: ['keepNewestVerified'] },
  );
  const check = (property: (all: readonly RetainedSave[], policy: RetentionPolicy) => void): void =>
    fc.assert(fc.property(anySaves, anyPolicy, property), { numRuns: 300 });
  const deletedBy = (all: readonly RetainedSave[], policy: RetentionPolicy): ReadonlySet<string> =>
    new Set(applyRetention(all, policy).delete);

  it('decides on each save once', () => {
    check((all, policy) => {
      const { delete: deleted, keep } = applyRetention(all, policy);
      expect([...deleted, ...keep.map(({ name }) => name)].toSorted()).toEqual(all.map(({ name }) => name).toSorted());
    });
  });

  it('deletes nothing more when it runs again', () => {
    check((all, policy) => {
      const deleted = deletedBy(all, policy);
      expect(
        applyRetention(
          all.filter(({ name }) => !deleted.has(name)),
          policy,
        ).delete,
      ).toEqual([]);
    });
  });

  it('leaves a verified save of each layout that had one', () => {
    check((all, policy) => {
      const deleted = deletedBy(all, policy);
      const layoutsOf = (some: readonly RetainedSave[]): ReadonlySet<string> =>
        new Set(some.filter(isVerified).map(({ layout }) => layout));
      expect(layoutsOf(all.filter(({ name }) => !deleted.has(name)))).toEqual(layoutsOf(all));
    });
  });

  it('leaves what is adopted or pinned, and what saves that stay began from', () => {
    check((all, policy) => {
      const deleted = deletedBy(all, policy);
      for (const { name, isAdopted = false, pin, base = '' } of all) {
        if (isAdopted || pin !== undefined) expect(deleted.has(name)).toBe(false);
        if (!deleted.has(name)) expect(deleted.has(base)).toBe(false);
      }
    });
  });

  it.each<[string, (policy: RetentionPolicy) => RetentionPolicy]>([
    ['more of the newest stay', (policy) => ({ ...policy, keepNewestVerified: policy.keepNewestVerified + 1 })],
    ['more of the best stay', (policy) => ({ ...policy, keepBestByLoss: (policy.keepBestByLoss ?? 0) + 1 })],
    [
      'intervals are half as long',
      ({ keepEverySteps: steps = 12, ...policy }) => ({
        ...policy,
        keepEverySteps: steps % 2 === 0 ? steps / 2 : steps,
      }),
    ],
  ])('deletes no other save if %s', (_what, widen) => {
    check((all, policy) => {
      const deleted = deletedBy(all, policy);
      for (const name of applyRetention(all, widen(policy)).delete) expect(deleted.has(name)).toBe(true);
    });
  });

  it('deletes no other save if one more is pinned or in use', () => {
    check((all, policy) => {
      const deleted = deletedBy(all, policy);
      const protectedToo = all.map((each, index) => (index % 3 === 0 ? { ...each, leases: ['job b'] } : each));
      for (const name of applyRetention(protectedToo, policy).delete) expect(deleted.has(name)).toBe(true);
    });
  });
});
