/** Do the detectors name, in real ranks, who is slow, who left out a collective, and whose loss is no number; and nobody where all are slow alike? */
import { findRank, LOCAL_IMAGES, startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { TrainingJobSpec, type Incident, type Job } from '@coxswain/api-types';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gptSpec } from './support/jobs.ts';
import { createProject, jobIn, resource, submit, type TestProject } from './support/project.ts';
import { slowDown } from './support/slow-down.ts';

const PROGRAMS = join(import.meta.dirname, '../engines/upstream/programs');
/** What the project promises. */
const SLOW_NAMED_WITHIN_MS = 300_000;
/** Three of five windows are needed for a word. */
const WINDOW_MS = 30_000;
const deadlineMs = 300_000;
const RANKS = [0, 1, 2, 3];

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await startSystem({
    shortLeases: true,
    operatorEnvironment: {
      COXSWAIN_HEALTH_WINDOW_MS: String(WINDOW_MS),
    },
  });
  project = await createProject(system, 'detectors');
});

afterAll(async () => {
  await system.stop();
});

async function incidentsOf({ id }: Job): Promise<readonly Incident[]> {
  return (await project.api.incidents({ project: project.name, id })).items;
}

function incidentOf(job: Job, kind: Incident['kind'], withinMs: number): Promise<Incident> {
  const look = async (): Promise<Incident | undefined> => (await incidentsOf(job)).find((one) => one.kind === kind);
  return waitFor(look, { what: `an incident of kind ${kind}`, deadlineMs: withinMs, intervalMs: 500 });
}

async function end({ id }: Job): Promise<void> {
  await project.api.cancel({ project: project.name, id });
  await jobIn(project, id, ['Cancelled'], { deadlineMs });
}

function pidsOf({ uid }: Job): Promise<readonly number[]> {
  const find = async (rank: number): Promise<number> =>
    (await findRank(system, { namespace: project.name, jobUid: uid ?? '', rank })).pid;
  return Promise.all(RANKS.map(find));
}

/** Steps that take long enough for what is taken from them to be seen. */
function aLongJob(): TrainingJobSpec {
  const { model, training } = gptSpec();
  if (model === undefined || training === undefined) throw new Error('the job has no model');
  return gptSpec({
    model: { ...model, hiddenSize: 128, sequenceLength: 256 },
    training: { ...training, steps: 100_000 },
    layout: { dataParallelDegree: 4 },
    checkpoint: { claimName: 'checkpoints', everySteps: 1_000 },
  });
}

describe('a job all of whose ranks are slowed down alike', () => {
  it('blames nobody', async () => {
    const job = await submit(project, 'all-slow', aLongJob());
    const running = await jobIn(project, job.id, ['Running'], { deadlineMs });
    const ending = new AbortController();
    const slowed = slowDown(await pidsOf(running), 0.4, ending.signal);
    await setTimeout(5 * WINDOW_MS);
    ending.abort();
    await slowed;
    // That detectors are at work shows the next one.
    const named = (await incidentsOf(running)).filter(({ rank, ranks }) => rank !== undefined || ranks !== undefined);
    expect(named).toEqual([]);
    await end(running);
  });
});

describe('a rank that computes half as long again', () => {
  it('is named with its node', async () => {
    // By its own doing: who is stopped for a part of its time on a machine with too few processors gets that time back from the scheduler.
    const fault = { rank: 3, step: 40, kind: 'slow', share: 0.5 };
    const { engine, ...spec } = aLongJob();
    const env = [{ name: 'ENGINE_FAULT', value: JSON.stringify(fault) }];
    const job = await submit(project, 'one-slow', { ...spec, engine: { ...engine, env } });
    const isSlow = ({ progress }: Job): boolean => (progress?.step ?? 0) >= fault.step;
    const running = await jobIn(project, job.id, ['Running'], { deadlineMs, and: isSlow });
    const startedMs = performance.now();
    const incident = await incidentOf(running, 'SlowRank', SLOW_NAMED_WITHIN_MS);
    console.info(`named after ${Math.round((performance.now() - startedMs) / 1_000)} s: ${incident.message}`);
    expect(incident).toMatchObject({ rank: 3 });
    expect(incident.node).toMatch(/^local-/);
    await end(running);
  });
});

describe('a rank that leaves out one collective', () => {
  it('is named, no node is blamed, and the job goes on', async () => {
    const job = await submit(
      project,
      'forgetful',
      TrainingJobSpec.parse({
        engine: {
          name: 'command',
          image: LOCAL_IMAGES.reference,
          command: ['python3', join(PROGRAMS, 'skips_collective.py'), '200', '3', '50'],
        },
        layout: { dataParallelDegree: 4 },
        restartPolicy: { maxRestarts: 2, delaySeconds: 0 },
      }),
    );
    await jobIn(project, job.id, ['Running'], { deadlineMs });
    const startedMs = performance.now();
    const incident = await incidentOf(job, 'Desync', deadlineMs);
    console.info(`named after ${Math.round((performance.now() - startedMs) / 1_000)} s: ${incident.message}`);
    expect(incident.message).toMatch(/^Rank 3 skipped a collective in which the other ranks of its group wait/);
    expect(incident.rank).toBe(3);
    const done = await jobIn(project, job.id, ['Complete'], { deadlineMs });
    expect(done.attempts.map(({ outcome }) => outcome)).toEqual(['Failed', 'Succeeded']);
    expect((await resource(system, project.name, 'forgetful')).status?.avoidedNodes ?? []).toEqual([]);
  });
});

describe('a loss that is no number', () => {
  it('is told with its step, and the job is left alone', async () => {
    const job = await submit(
      project,
      'diverged',
      TrainingJobSpec.parse({
        engine: {
          name: 'command',
          image: LOCAL_IMAGES.reference,
          command: ['python3', join(PROGRAMS, 'plain_ddp.py'), '2000', '1000'],
          stepLines: 'torchtitan',
          env: [
            { name: 'STEP_DELAY_MS', value: '100' },
            { name: 'LEARNING_RATE', value: '1e37' },
          ],
        },
        layout: { dataParallelDegree: 2 },
      }),
    );
    const incident = await incidentOf(job, 'BadLoss', deadlineMs);
    console.info(incident.message);
    expect(incident.message).toMatch(/loss is (?:NaN|Infinity), no number/);
    expect(incident.action).toBe('Advised');
    await end(job);
  });
});
