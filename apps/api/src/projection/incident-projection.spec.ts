import { MAX_INCIDENTS_IN_STATUS, type TrainingJob } from '@coxswain/api-types';
import { anIncident, aTrainingJob } from '@coxswain/api-types/testing';
import { incidentsOf } from './incident-projection.ts';

const INCIDENT = anIncident();

const holding = (incidents: unknown): TrainingJob => {
  const job = aTrainingJob();
  return { ...job, status: { ...job.status, incidents } as TrainingJob['status'] } as TrainingJob;
};

describe('incidents that a resource tells of', () => {
  it.each<[string, unknown, readonly string[]]>([
    ['are none where it has no status of them', undefined, []],
    ['are none where somebody wrote something else', 'yesterday', []],
    ['are those that can be read', [INCIDENT, { id: 7 }, null], ['1.1']],
    ['are those with a time', [{ ...INCIDENT, noticedAt: 'yesterday' }], []],
    ['are each one once', [INCIDENT, { ...INCIDENT, message: 'again' }], ['1.1']],
    [
      'are the newest that status may hold',
      Array.from({ length: 50 }, (_, index) => ({ ...INCIDENT, id: `${index}.1` })),
      Array.from({ length: MAX_INCIDENTS_IN_STATUS }, (_, index) => `${30 + index}.1`),
    ],
  ])('%s', (_sentence, reported, ids) => {
    expect(incidentsOf(holding(reported)).map(({ id }) => id)).toEqual(ids);
  });
});
