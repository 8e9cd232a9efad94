import type { Condition, Incident, Job } from '@coxswain/api-types';
import { aJobFailure, anIncident } from '@coxswain/api-types/testing';
import { type KnownJob, newsOfIncident, newsOfJob } from './job-news.ts';

const condition = (type: string, reason: string, status: Condition['status'] = 'False'): Condition => ({
  type,
  reason,
  status,
  message: `${reason}.`,
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const known = (state: Job['state'], ...conditions: readonly Condition[]): KnownJob => ({
  state,
  summary: `It is ${state}.`,
  conditions,
});
const refused = condition('Accepted', 'LayoutInvalid');

describe('of a job', () => {
  it.each<[string, KnownJob, KnownJob, readonly string[]]>([
    ['that runs on nothing is told', known('Running'), known('Running'), []],
    ['that is new nothing is told', known('Queued'), known('Queued'), []],
    ['that has just ended that is told', known('Running'), known('Failed'), ['job.ended Failed']],
    ['that had ended nothing is told', known('Complete'), known('Complete'), []],
    ['that is found when it has ended that is told', known('Queued'), known('Complete'), ['job.ended Complete']],
    [
      'that asks for a layout which is none, that is told',
      known('Queued'),
      known('Queued', refused),
      ['job.needsPerson LayoutInvalid'],
    ],
    ['of which that was told it is not told again', known('Queued', refused), known('Queued', refused), []],
    [
      'that waits for a person for another reason, that is told',
      known('Queued', refused),
      known('Queued', condition('Accepted', 'EngineRefused')),
      ['job.needsPerson EngineRefused'],
    ],
    [
      'whose image cannot be had, that is told',
      known('Starting'),
      known('Starting', condition('Running', 'ImageUnavailable')),
      ['job.needsPerson ImageUnavailable'],
    ],
    [
      'that waits for GPUs nothing is told',
      known('Queued'),
      known('Queued', condition('Placed', 'WaitingForCapacity')),
      [],
    ],
    [
      'that is accepted nothing is told',
      known('Queued'),
      known('Queued', condition('Accepted', 'LayoutInvalid', 'True')),
      [],
    ],
    [
      'that ended while it waited for a person its end is told alone',
      known('Queued'),
      known('Cancelled', refused),
      ['job.ended Cancelled'],
    ],
  ])('%s', (_sentence, before, now, want) => {
    const summaries = newsOfJob(before, now).map((news) => {
      if (news.type === 'job.ended') return `${news.type} ${news.state}`;
      return news.type === 'job.needsPerson' ? `${news.type} ${news.condition.reason}` : news.type;
    });
    expect(summaries).toEqual(want);
  });
});

describe('the message about the end of a job', () => {
  const over = { ...known('Failed'), failure: aJobFailure() };
  it.each<[string, KnownJob, string | undefined]>([
    ['that failed has its cause', over, aJobFailure().verdict],
    ['that failed without an attempt has no cause', known('Failed'), undefined],
    ['that survived its last failure has no cause', { ...over, failure: aJobFailure({ isFinal: false }) }, undefined],
  ])('%s', (_sentence, now, want) => {
    const [news] = newsOfJob(known('Running'), now);
    expect(news?.type === 'job.ended' ? news.failure?.verdict : news).toBe(want);
  });
});

describe('of an incident', () => {
  const incident = (changes: Partial<Incident> = {}): Incident => anIncident({ action: 'Advised', ...changes });
  const acted = incident({ action: 'RestartedInPods' });
  const over = incident({ action: 'RestartedInPods', outcome: 'Recovered' });

  it.each<[string, Incident | null, Incident, readonly string[]]>([
    ['that is noticed', null, incident(), ['opened']],
    ['that is noticed and answered at once', null, acted, ['opened', 'acted']],
    ['that is answered later', incident(), acted, ['acted']],
    ['that is answered in another way later', acted, incident({ action: 'RestartedElsewhere' }), []],
    ['that is over', acted, over, ['closed']],
    ['that went away by itself', incident(), incident({ outcome: 'Passed' }), ['closed']],
    ['that is told when all is over', null, over, ['opened', 'acted', 'closed']],
    ['that is as it was', over, over, []],
  ])('%s', (_sentence, before, now, want) => {
    expect(newsOfIncident(before, now).map(({ type }) => type)).toEqual(want.map((word) => `incident.${word}`));
  });
});
