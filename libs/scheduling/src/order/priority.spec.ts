import { aTrainingJob } from '@coxswain/api-types/testing';
import { defaultClass, podClassOf, type PriorityClassFacts, priorityOf } from './priority.ts';

const aClass = (name: string, value: number, more: Partial<PriorityClassFacts> = {}): PriorityClassFacts => ({
  name,
  value,
  isDefault: false,
  neverPreempts: false,
  ...more,
});
const NEVER = { neverPreempts: true };

describe('the priority of a job', () => {
  it.each([
    ['is the recorded value', { className: 'urgent', value: 1000 }, 1000],
    ['may be below 0', { className: 'scavenger', value: -10 }, -10],
    ['is 0 if nothing is recorded, as in a status of the release before', undefined, 0],
  ] as const)('%s', (_sentence, priority, want) => {
    const status = { epoch: 0, restarts: { total: 0, charged: 0 }, ...(priority === undefined ? {} : { priority }) };
    expect(priorityOf(aTrainingJob({ status }))).toBe(want);
  });
});

describe('the default class', () => {
  it.each<[string, readonly PriorityClassFacts[], string | undefined]>([
    ['does not exist unless a class is marked', [aClass('high', 10)], undefined],
    ['is the marked one', [aClass('high', 10), aClass('usual', 5, { isDefault: true })], 'usual'],
    [
      'is the one with the smallest value of several',
      [aClass('usual', 5, { isDefault: true }), aClass('low', 1, { isDefault: true })],
      'low',
    ],
  ])('%s', (_sentence, classes, want) => {
    expect(defaultClass(classes)?.name).toBe(want);
  });
});

describe('pods of a job with class urgent of value 1000', () => {
  const urgent = { className: 'urgent', value: 1000 };
  it.each<[string, Parameters<typeof podClassOf>[0], readonly PriorityClassFacts[], string | undefined]>([
    [
      'carry the class of the convention',
      urgent,
      [aClass('urgent', 1000), aClass('urgent-never-preempts', 1000, NEVER)],
      'urgent-never-preempts',
    ],
    ['carry the class itself if it never preempts', urgent, [aClass('urgent', 1000, NEVER)], 'urgent'],
    ['carry none if there is no class for pods', urgent, [aClass('urgent', 1000)], undefined],
    [
      'carry none if the class for pods has another value',
      urgent,
      [aClass('urgent', 1000), aClass('urgent-never-preempts', 900, NEVER)],
      undefined,
    ],
    ['carry none if the class for pods preempts', urgent, [aClass('urgent-never-preempts', 1000)], undefined],
    [
      'carry the class for pods after the class of the job was deleted',
      urgent,
      [aClass('urgent-never-preempts', 1000, NEVER)],
      'urgent-never-preempts',
    ],
    ['carry none if the job has no class', undefined, [aClass('urgent', 1000, NEVER)], undefined],
  ])('%s', (_sentence, priority, classes, want) => {
    expect(podClassOf(priority, classes)).toBe(want);
  });
});
