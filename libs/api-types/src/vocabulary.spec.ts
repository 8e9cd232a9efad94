import {
  CONDITION_REASONS,
  CONDITION_TYPES,
  type Condition,
  EXIT_CODES,
  exitKindOf,
  findCondition,
  isTrue,
  POD_ENV,
} from './index.ts';

describe('an exit code', () => {
  it.each<[number, string, string]>([
    [0, 'finished', 'none'],
    [1, 'engineFailed', 'charged'],
    [70, 'launcherFailed', 'charged'],
    [71, 'rendezvousPortLost', 'free'],
    [72, 'checkpointUnreadable', 'free'],
    [73, 'fenced', 'none'],
    [74, 'checkpointIoError', 'free'],
    [75, 'stopped', 'free'],
    [76, 'operatorUnreachable', 'free'],
    [93, 'doNotRestart', 'never'],
    [2, 'engineFailed', 'charged'],
    [137, 'engineFailed', 'charged'],
  ])('%d means %s and a restart that is %s', (code, kind, restart) => {
    expect(exitKindOf(code)).toBe(kind);
    expect(EXIT_CODES[exitKindOf(code)].restart).toBe(restart);
  });

  it('stands for one thing', () => {
    const codes = Object.values(EXIT_CODES).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
  });
});

describe('conditions', () => {
  const aCondition = (type: string, status: Condition['status']): Condition => ({
    type,
    status,
    reason: 'Because',
    message: 'it is so',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });

  it.each<[string, readonly Condition[] | undefined, boolean]>([
    ['is true where it was written so', [aCondition('Placed', 'False'), aCondition('Running', 'True')], true],
    ['is not true where it is false', [aCondition('Running', 'False')], false],
    ['is not true where it is unknown', [aCondition('Running', 'Unknown')], false],
    ['is not true where another is', [aCondition('Placed', 'True')], false],
    ['is not true where none was written', undefined, false],
  ])('Running %s', (_sentence, conditions, want) => {
    expect(isTrue(conditions, 'Running')).toBe(want);
  });

  it('are found by type', () => {
    expect(findCondition([aCondition('Placed', 'False')], 'Placed')?.status).toBe('False');
    expect(findCondition([], 'Placed')).toBeUndefined();
  });

  it('of every type have reasons, each one CamelCase word with a meaning', () => {
    expect(Object.keys(CONDITION_REASONS)).toEqual([...CONDITION_TYPES]);
    for (const reasons of Object.values(CONDITION_REASONS)) {
      for (const [reason, meaning] of Object.entries(reasons)) {
        expect(reason).toMatch(/^([A-Z][a-z]+)+$/);
        expect(meaning).toMatch(/^\S.*\.$/);
      }
    }
  });
});

describe('names that programs share', () => {
  it('of a pod’s environment begin as no user’s may, and are all different', () => {
    const names = Object.values(POD_ENV);
    expect(names.filter((name) => !name.startsWith('COXSWAIN_'))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
});
