import { findCondition, type TrainingJobStatus } from '@coxswain/api-types';
import type { PriorityClassFacts } from '@coxswain/scheduling';
import { aCapacity, observe } from '../testing/index.ts';
import { aJob, aRunningJob, aStatus, settled } from '../testing/jobs.ts';

const aClass = (name: string, value: number, isDefault = false): PriorityClassFacts => ({
  name,
  value,
  isDefault,
  neverPreempts: false,
});
const CLASSES = [aClass('urgent', 1000), aClass('high', 100)];
const WITH_DEFAULT = [...CLASSES, aClass('usual', 10, true)];

/** A job without room, after its reconciliation. */
function waiting(
  priorityClassName: string | undefined,
  priorityClasses: readonly PriorityClassFacts[] | undefined,
  priority?: TrainingJobStatus['priority'],
) {
  const spec = priorityClassName === undefined ? {} : { priorityClassName };
  const status = aStatus({ attempts: [], askedAt: '2026-01-01T00:00:00Z', ...(priority && { priority }) });
  const seen = observe({
    job: aJob({ spec, status }),
    capacity: () => aCapacity([]),
    ...(priorityClasses === undefined ? {} : { priorityClasses }),
  });
  return settled(seen);
}

const placedOf = ({ conditions }: TrainingJobStatus) => findCondition(conditions, 'Placed');

describe('a job that waits records', () => {
  it.each<[string, Parameters<typeof waiting>, TrainingJobStatus['priority']]>([
    ['the class that it names', ['high', CLASSES], { className: 'high', value: 100 }],
    ['the default class if it names none', [undefined, WITH_DEFAULT], { className: 'usual', value: 10 }],
    ['nothing if it names none and there is no default class', [undefined, CLASSES], undefined],
    [
      'another class when the spec changes',
      ['urgent', CLASSES, { className: 'high', value: 100 }],
      { className: 'urgent', value: 1000 },
    ],
    [
      'the value of a class that was made again with another one',
      ['high', CLASSES, { className: 'high', value: 7 }],
      { className: 'high', value: 100 },
    ],
    [
      'the last value when its class is deleted',
      ['gone', CLASSES, { className: 'gone', value: 500 }],
      { className: 'gone', value: 500 },
    ],
    [
      'what it had as long as the classes are unknown',
      ['high', undefined, { className: 'high', value: 7 }],
      { className: 'high', value: 7 },
    ],
    [
      'nothing more when the default class is deleted',
      [undefined, CLASSES, { className: 'usual', value: 10 }],
      undefined,
    ],
  ])('%s', (_sentence, about, want) => {
    expect(waiting(...about).status.priority).toEqual(want);
  });
});

describe('a job whose class does not exist', () => {
  it('waits with a suggestion and the classes that exist, and keeps its age', () => {
    const { status, requeueAfterMs } = waiting('urgnet', CLASSES);
    expect(placedOf(status)).toMatchObject({ status: 'False', reason: 'PriorityClassMissing' });
    expect(placedOf(status)?.message).toBe(
      'PriorityClass urgnet (spec.priorityClassName) does not exist. Did you mean urgent? The cluster has high, urgent.',
    );
    expect(status).toMatchObject({ state: 'Queued', askedAt: '2026-01-01T00:00:00Z' });
    expect(requeueAfterMs).toBe(30_000);
  });

  it('takes no GPU even if there is room', () => {
    const { status, reserve } = settled(
      observe({ job: aJob({ spec: { priorityClassName: 'gone' } }), priorityClasses: [] }),
    );
    expect(placedOf(status)?.message).toBe(
      'PriorityClass gone (spec.priorityClassName) does not exist. The cluster has none for jobs.',
    );
    expect({ attempts: status.attempts, reserve }).toEqual({ attempts: undefined, reserve: undefined });
  });

  it('is not shown those of Kubernetes itself', () => {
    const { status } = waiting('gone', [aClass('system-node-critical', 2_000_001_000)]);
    expect(placedOf(status)?.message).toMatch(/ The cluster has none for jobs\.$/);
  });

  it.each<[string, Parameters<typeof waiting>, string]>([
    ['0 applies to a new job', ['urgent', undefined], 'priority 0 applies instead of urgent'],
    [
      'the recorded one applies to another',
      ['urgent', undefined, { className: 'high', value: 7 }],
      'priority 7 applies instead of urgent',
    ],
  ])('is unknown as long as the classes cannot be read: %s, and condition Placed says so', (_sentence, about, want) => {
    expect(placedOf(waiting(...about).status)).toMatchObject({ message: expect.stringContaining(want) });
    expect(placedOf(waiting(...about).status)?.reason).toBe('WaitingForCapacity');
  });

  it('names ten of many classes', () => {
    const many = Array.from({ length: 12 }, (_, index) => aClass(`class-${String(index).padStart(2, '0')}`, index));
    expect(placedOf(waiting('other', many).status)?.message).toMatch(/class-00, .*class-09 and 2 more\.$/);
  });

  it.each<[string, () => TrainingJobStatus]>([
    ['waits in its place', () => waiting('gone', CLASSES, { className: 'gone', value: 500 }).status],
    [
      'goes on',
      () =>
        settled(
          aRunningJob({
            spec: { spec: { priorityClassName: 'gone' } },
            status: { priority: { className: 'gone', value: 500 } },
            observed: { priorityClasses: CLASSES },
          }),
        ).status,
    ],
  ])('after it was deleted %s, and says so once', (_sentence, status) => {
    const message = placedOf(status())?.message ?? '';
    expect(message.split('PriorityClass gone was deleted; the job keeps its value 500.')).toHaveLength(2);
  });
});

describe('a gang whose job names a class', () => {
  const messageWith = (priorityClasses: readonly PriorityClassFacts[], priorityClassName?: string): string => {
    const spec = priorityClassName === undefined ? {} : { priorityClassName };
    return placedOf(settled(aRunningJob({ spec: { spec }, observed: { priorityClasses } })).status)?.message ?? '';
  };
  const ofPods = { ...aClass('urgent-never-preempts', 1000), neverPreempts: true };
  const lacks =
    'Its pods carry no class of this priority: PriorityClass urgent-never-preempts of value 1000 with preemptionPolicy Never does not exist.';
  it.each<[string, Parameters<typeof messageWith>, boolean]>([
    ['says that the class for its pods does not exist', [CLASSES, 'urgent'], true],
    ['says nothing if it exists', [[...CLASSES, ofPods], 'urgent'], false],
    ['says nothing if the job has the default class', [WITH_DEFAULT], false],
  ])('%s', (_sentence, about, isSaid) => {
    expect(messageWith(...about).includes(lacks)).toBe(isSaid);
  });
});
