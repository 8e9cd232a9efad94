import type { StartVerdict } from '@coxswain/api-types';
import { aJob, aJobFailure, anAttempt } from '@coxswain/api-types/testing';
import { runCommand } from '../testing/run-command.ts';

const JOBS = 'GET /v1/projects/research/jobs';
const verdict: StartVerdict = {
  reason: 'ObjectMissing',
  condition: 'Placed',
  sentence: 'PersistentVolumeClaim corpse (spec.data.claimName) does not exist in namespace research.',
  change: 'Create corpse in namespace research, or name one that exists.',
  object: { kind: 'PersistentVolumeClaim', name: 'corpse' },
};
const queued = aJob({
  state: 'Queued',
  summary: verdict.sentence,
  whyNotTraining: verdict,
  attempts: [anAttempt({ stage: 'Ended', outcome: 'Failed', reason: 'Evicted', message: 'Pod a was evicted.\nmore' })],
  conditions: [
    {
      ...{ type: 'Placed', status: 'False', reason: 'ObjectMissing', message: verdict.sentence, observedGeneration: 1 },
      lastTransitionTime: '2026-01-10T00:00:00Z',
    },
  ],
});
const routes = (job: ReturnType<typeof aJob>) => ({
  [JOBS]: { json: { items: [job] } },
  [`${JOBS}/${job.id}`]: { json: job },
});

describe('coxswain explain', () => {
  it('says why a job does not train, the change that helps, and what stands behind it', async () => {
    const { out, code } = await runCommand('explain tiny-gpt', routes(queued));
    expect([code, out]).toEqual([
      0,
      `tiny-gpt does not train yet: ObjectMissing
${verdict.sentence}
Change: ${verdict.change}
About: PersistentVolumeClaim corpse

What stands behind it
  CONDITION  IS     REASON         MESSAGE
  Placed     False  ObjectMissing  ${verdict.sentence}

Attempt 1 failed: Evicted. Pod a was evicted.`,
    ]);
  });

  it('has the same as JSON', async () => {
    const { out } = await runCommand('explain tiny-gpt -o json', routes(queued));
    expect(JSON.parse(out)).toMatchObject({ job: 'tiny-gpt', verdict, lastFailure: { attempt: 1, reason: 'Evicted' } });
  });

  it('recommends an interval between saves, with its numbers', async () => {
    const recommendedSaves = {
      ...{ everySteps: 60, everySeconds: 1_200, secondsPerSave: 1.25, saves: 4 },
      ...{ secondsToFailure: 36_000, failures: 2 },
    };
    const json = {
      ...{ asOf: '2026-01-10T00:00:00.000Z', gpuSeconds: 0, goodput: null, shares: [], spans: [] },
      ...{ heldSeconds: 0, waitingSeconds: 0, suspendedSeconds: 0, attemptsLeftOut: 0, recommendedSaves },
    };
    const goodput = { [`${JOBS}/${queued.id}/goodput`]: { json } };
    const { out } = await runCommand('explain tiny-gpt', { ...routes(queued), ...goodput });
    expect(out.split('\n').at(-1)).toMatch(/^Recommended: save every 60 steps \(about 20 min 0 s\): a save stops/);
  });

  it('lists options of the engine that no prediction counts', async () => {
    const engine = { name: 'megatron-lm' as const, image: 'i', options: [{ name: 'use-flash', value: 'true' }] };
    const job = aJob({ spec: { engine } });
    const notes = ['assumed: x', 'engine.options: use-flash true is passed through and not priced'];
    const program = {
      ...{ release: null, startedBy: 'launcher', argv: [], resumeArgs: [], env: [], files: [], ports: [] },
      ...{ hostMemoryGibPerGpu: null, stepLines: null, checkpointFormat: null, notes },
    };
    const json = { engine: 'megatron-lm', epoch: null, layout: null, refusal: null, program };
    const answers = { ...routes(job), [`${JOBS}/${job.id}/rendering`]: { json } };
    expect((await runCommand('explain tiny-gpt', answers)).out.split('\n').slice(1)).toEqual(['', notes[1]]);
    expect(JSON.parse((await runCommand('explain tiny-gpt -o json', answers)).out)).toMatchObject({
      notPriced: [notes[1]],
    });
  });

  it('says of a job that failed what to do next', async () => {
    const lastFailure = aJobFailure({ isFinal: true });
    const failed = aJob({ state: 'Failed', summary: 'It failed.', lastFailure });
    const { out } = await runCommand('explain tiny-gpt', routes(failed));
    expect(out.split('\n').slice(-2)).toEqual([
      `Attempt ${lastFailure.attempt} failed: ${lastFailure.verdict} ${lastFailure.answer}`,
      `Next: ${lastFailure.advice}`,
    ]);
  });

  it('says what a job does that trains', async () => {
    const { out } = await runCommand('explain tiny-gpt', routes(aJob()));
    expect(out).toBe('tiny-gpt is Running. Training on 4 GPUs.');
  });
});

describe('coxswain gpus', () => {
  it('shows counts by type', async () => {
    const counts = {
      total: 24,
      free: 10,
      types: [
        { type: 'H100', total: 16, free: 8 },
        { type: 'A100', total: 8, free: 2 },
      ],
    };
    const { out } = await runCommand('gpus', { 'GET /v1/projects/research/gpus': { json: counts } });
    expect(out).toBe(`TYPE  TOTAL  FREE
H100  16     8
A100  8      2
all   24     10`);
  });
});
