import { anAttempt, aJob, aStatus } from '../testing/jobs.ts';
import { aPod, observe } from '../testing/index.ts';
import { factsOf } from './facts.ts';
import { hindranceOf } from './hindrance.ts';
import { RefusedCalls, type RefusedCall } from './refused-calls.ts';

const job = aJob({ status: aStatus({ attempts: [anAttempt({ epoch: 2 })] }) });
const here = aPod(job, { epoch: 2, gated: true });
const missing = aPod(job, { epoch: 2, podIndex: 1 });
const earlier = aPod(job, { epoch: 1, podIndex: 1 });
const shown = (call: Omit<RefusedCall, 'message'>): boolean => {
  const facts = factsOf(observe({ job, pods: [here], refusedCalls: [{ ...call, message: 'no' }] }));
  return hindranceOf(facts, [call.kind]) !== undefined;
};

describe('a denied write', () => {
  it.each<[string, Omit<RefusedCall, 'message'>, boolean]>([
    ['of a pod that is still missing is shown', { kind: 'createPod', name: missing.name }, true],
    ['of a pod that exists by now is not', { kind: 'createPod', name: here.name }, false],
    ['of a pod of an earlier attempt is not', { kind: 'createPod', name: earlier.name }, false],
    [
      'of the Placement of this attempt is shown',
      { kind: 'createPlacement', name: anAttempt({ epoch: 2 }).placement },
      true,
    ],
    ['of the Placement of an earlier one is not', { kind: 'createPlacement', name: anAttempt().placement }, false],
    ['of a gate that is still there is shown', { kind: 'liftGate', name: here.name }, true],
    ['of a gate of a pod that is gone is not', { kind: 'liftGate', name: missing.name }, false],
  ])('%s', (_sentence, call, want) => {
    expect(shown(call)).toBe(want);
  });

  it('is forgotten once it succeeds: for pods by name, for others whatever the name', () => {
    const calls = new RefusedCalls();
    for (const kind of ['createPod', 'probePod'] as const) calls.note('job', { kind, name: 'a', message: 'no' });
    calls.done('job', { kind: 'createPod', name: 'b' });
    calls.done('job', { kind: 'probePod', name: 'b' });
    expect(calls.of('job').map(({ kind }) => kind)).toEqual(['createPod']);
    calls.done('job', { kind: 'createPod', name: 'a' });
    expect([calls.of('job'), calls.size]).toEqual([[], 0]);
  });
});
