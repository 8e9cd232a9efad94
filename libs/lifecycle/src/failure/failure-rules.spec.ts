import { ATTEMPT_REASONS, type AttemptReason, type FailureRule } from '@coxswain/api-types';
import type { Failure } from './failure.ts';
import { crashOf, isBuiltIn, ruleFor } from './failure-rules.ts';

const failure = (about: Partial<Failure> = {}): Failure => ({
  reason: 'EngineFailed',
  message: '',
  crash: { lastLines: [], exitCode: 1 },
  ...about,
});
const found = (rules: readonly FailureRule[], of: Failure): string => ruleFor(rules, of, crashOf(of)).name;

const OOM = failure({ crash: { exitCode: 1, lastLines: ['torch.OutOfMemoryError: CUDA out of memory.'] } });
const FALLEN = failure({ crash: { lastLines: [], nodeConditions: [{ type: 'SysLogsGPUFallenOff', status: 'True' }] } });

describe('a rule holds', () => {
  it.each<[string, Omit<FailureRule, 'name' | 'action'>, Failure, boolean]>([
    ['always, where it says no condition', {}, failure(), true],
    ['for its reason', { onReasons: ['NodeLost', 'EngineFailed'] }, failure(), true],
    ['for no other', { onReasons: ['NodeLost'] }, failure(), false],
    ['for its exit code', { onExitCodes: { operator: 'In', values: [1, 17] } }, failure(), true],
    ['for no other code', { onExitCodes: { operator: 'In', values: [17] } }, failure(), false],
    ['for all but its codes', { onExitCodes: { operator: 'NotIn', values: [17] } }, failure(), true],
    [
      'for no code where none is known',
      { onExitCodes: { operator: 'NotIn', values: [17] } },
      failure({ crash: { lastLines: [] } }),
      false,
    ],
    ['for its class', { onCrashClasses: ['GpuOutOfMemory'] }, OOM, true],
    ['for no other class', { onCrashClasses: ['GpuLost'] }, OOM, false],
    ['for whoever is to blame', { onBlames: ['node'] }, FALLEN, true],
    ['for nobody else', { onBlames: ['node'] }, OOM, false],
    ['for a line with its pattern', { onLogPatterns: ['no such', 'cuda*memory'] }, OOM, true],
    ['for no line without', { onLogPatterns: ['no such'] }, OOM, false],
    ['for a condition of the node', { onNodeConditions: ['SysLogsGPUFallenOff'] }, FALLEN, true],
    ['for no other', { onNodeConditions: ['Ready'] }, FALLEN, false],
    ['only where all of it holds', { onReasons: ['EngineFailed'], onBlames: ['node'] }, OOM, false],
    [
      'for an engine that asks to stop, by its name',
      { onReasons: ['DoNotRestart'] },
      failure({ reason: 'DoNotRestart' }),
      true,
    ],
    ['and not for it without', {}, failure({ reason: 'DoNotRestart' }), false],
    ['for pods that are refused, not without their name', {}, failure({ reason: 'PodsRefused' }), false],
  ])('%s', (_sentence, when, of, want) => {
    expect(found([{ name: 'mine', action: 'Fail', ...when }], of)).toBe(want ? 'mine' : found([], of));
  });
});

it('the first that holds decides', () => {
  const rules: readonly FailureRule[] = [
    { name: 'a', onBlames: ['node'], action: 'RestartElsewhere' },
    { name: 'b', action: 'Fail' },
    { name: 'c', action: 'Restart' },
  ];
  expect(found(rules, OOM)).toBe('b');
  expect(found(rules, FALLEN)).toBe('a');
});

describe('where nobody states a rule', () => {
  it.each(Object.keys(ATTEMPT_REASONS) as AttemptReason[])(
    '%s is answered as it was before there were any',
    (reason) => {
      const of = failure({ reason });
      const rule = ruleFor([], of, crashOf(of));
      expect(isBuiltIn(rule)).toBe(true);
      expect([rule.action, rule.charged]).toEqual([
        ['DoNotRestart', 'NothingTrained'].includes(reason) ? 'Fail' : 'Restart',
        undefined,
      ]);
    },
  );
});

describe('the class of a failure', () => {
  it.each<[string, Failure, string]>([
    ['is told by what the rank wrote', OOM, 'GpuOutOfMemory'],
    ['of a lost node is the node’s', failure({ reason: 'NodeLost' }), 'NodeUnhealthy'],
    ['of a lost node is what its conditions say', failure({ ...FALLEN, reason: 'NodeLost' }), 'GpuLost'],
    ['of an eviction is no crash of the program', failure({ ...OOM, reason: 'Evicted' }), 'Disrupted'],
    ['of a refused checkpoint is the storage’s', failure({ reason: 'CheckpointIoError' }), 'StorageError'],
    ['is unknown where nothing shows', failure(), 'Unknown'],
  ])('%s', (_sentence, of, want) => {
    expect(crashOf(of).class).toBe(want);
  });
});
