import type { JobIncident } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { runCommand } from '../testing/run-command.ts';

const JOBS = 'GET /v1/projects/research/jobs';

function anIncident(changes: Partial<JobIncident> = {}): JobIncident {
  return {
    id: '1.1-standsStill',
    jobId: aJob().id,
    job: 'tiny-gpt',
    project: 'research',
    kind: 'Hang',
    epoch: 1,
    incarnation: 1,
    noticedAt: '2026-01-09T12:00:00.000Z',
    message: 'Others wait for rank 3.',
    rank: 3,
    node: 'gpu-b',
    gpu: 1,
    gpus: 8,
    evidence: [{ name: 'waitedForMs', value: '61000' }],
    operations: [
      { rank: 3, phase: 'training', step: 12, forMs: 61_000 },
      { rank: 0, phase: 'training', step: 12, operation: 'all_reduce', group: '2', sequence: 7, forMs: 60_000 },
    ],
    action: 'RestartedElsewhere',
    outcome: 'Recovered',
    closedAt: '2026-01-09T12:02:00.000Z',
    redoneSteps: 2,
    lostMs: 121_000,
    ...changes,
  };
}

async function shown(argv: string, items: readonly JobIncident[], query: string): Promise<string> {
  const { code, out, err } = await runCommand(argv, {
    [JOBS]: { json: { items: [aJob()] } },
    [`${JOBS}/${aJob().id}`]: { json: aJob() },
    [`${JOBS}/${aJob().id}/incidents${query}`]: { json: { items } },
    [`GET /v1/projects/research/incidents${query}`]: { json: { items } },
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

describe('coxswain incidents', () => {
  it('lists those of a project, one a line', async () => {
    const open = anIncident({ kind: 'SlowRank', action: 'Advised', outcome: undefined, lostMs: undefined });
    expect(await shown('incidents', [anIncident(), open], '?pageSize=50'))
      .toBe(`NOTICED (UTC)        JOB       WHAT       RANK  NODE   ACTION               OUTCOME    LOST
2026-01-09 12:00:00  tiny-gpt  hang       3     gpu-b  restarted elsewhere  recovered  2 min 1 s (2 steps again)
2026-01-09 12:00:00  tiny-gpt  slow rank  3     gpu-b  advised              open       -`);
  });

  it('tells those of a job in words, with what ranks did last', async () => {
    expect(await shown('incidents tiny-gpt', [anIncident()], '?pageSize=50'))
      .toBe(`2026-01-09 12:00:00  Hang of rank 3 (GPU 1 of its pod) on node gpu-b  [1.1-standsStill]
  Seen:     Others wait for rank 3.
  Done:     The gang restarts in new pods, away from the nodes that are to blame.
  Came of:  The job trained again after the action, or finished. Lost: 2 min 1 s (2 steps again).
  Last:     Rank 3 waits in no group (training, after step 12), for 1 min 1 s
  Last:     Rank 0 waits in all_reduce 7 of group 2 (training, after step 12), for 1 min 0 s
  Evidence: waitedForMs 61000`);
  });

  it('asks for what is wanted alone', async () => {
    const query = '?kind=Hang&state=open&node=gpu-b&pageSize=5';
    expect(await shown('incidents --kind Hang --state open --node gpu-b --limit 5', [], query)).toBe('No incidents.');
  });

  it('gives programs the whole of it', async () => {
    expect(JSON.parse(await shown('-o json incidents', [anIncident()], '?pageSize=50'))).toEqual([anIncident()]);
  });
});
