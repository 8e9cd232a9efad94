/** Does TorchTitan, which knows nothing of us, have its slow rank named by what the hook beside it sees, and nobody where all are slow alike? */
import { startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { TrainingJobSpec, type Incident, type Job } from '@coxswain/api-types';
import { setTimeout } from 'node:timers/promises';
import { torchTitan } from './engines/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';

/** What the project promises. */
const SLOW_NAMED_WITHIN_MS = 300_000;
/** Three of five windows are needed for a word. */
const WINDOW_MS = 30_000;
const deadlineMs = 400_000;
const SLOW_FROM_STEP = 20;

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await startSystem({
    shortLeases: true,
    operatorEnvironment: { COXSWAIN_HEALTH_WINDOW_MS: String(WINDOW_MS) },
  });
  project = await createProject(system, 'slow-torchtitan');
});

afterAll(async () => {
  await system.stop();
});

async function blamedOf({ id }: Job): Promise<readonly Incident[]> {
  const { items } = await project.api.incidents({ project: project.name, id });
  return items.filter(({ rank, ranks }) => rank !== undefined || ranks !== undefined);
}

/** FSDP2 on four ranks, of which these compute half as long again from a step on; resolves once that step is done. */
async function train(name: string, ranks: readonly number[]): Promise<Job> {
  const { spec } = torchTitan({ steps: 100_000, saveEvery: 50_000 });
  const env = [{ name: 'SLOW_ON_PURPOSE', value: JSON.stringify({ ranks, step: SLOW_FROM_STEP, share: 0.5 }) }];
  const layout = { dataParallelDegree: 4, states: { zeroStage: 3 } };
  const { id } = await submit(
    project,
    name,
    TrainingJobSpec.parse({ ...spec, layout, engine: { ...spec.engine, env } }),
  );
  const isSlow = ({ progress }: Job): boolean => (progress?.step ?? 0) >= SLOW_FROM_STEP;
  return jobIn(project, id, ['Running'], { deadlineMs, and: isSlow });
}

async function end({ id }: Job): Promise<void> {
  await project.api.cancel({ project: project.name, id });
  await jobIn(project, id, ['Cancelled'], { deadlineMs });
}

describe('a rank of TorchTitan that computes half as long again', () => {
  it('is named with its node, and nobody else is', async () => {
    const running = await train('one-slow', [3]);
    const startedMs = performance.now();
    const incident = await waitFor(async () => (await blamedOf(running)).find(({ kind }) => kind === 'SlowRank'), {
      what: 'an incident of a slow rank',
      deadlineMs: SLOW_NAMED_WITHIN_MS,
      intervalMs: 500,
    });
    console.info(`named after ${Math.round((performance.now() - startedMs) / 1_000)} s: ${incident.message}`);
    expect(incident).toMatchObject({ rank: 3 });
    expect(incident.node).toMatch(/^local-/);
    expect((await blamedOf(running)).map(({ kind, rank }) => [kind, rank])).toEqual([['SlowRank', 3]]);
    await end(running);
  });
});

describe('a job of TorchTitan all of whose ranks compute half as long again', () => {
  it('blames nobody', async () => {
    const running = await train('all-slow', [0, 1, 2, 3]);
    await setTimeout(6 * WINDOW_MS);
    // That detectors are at work shows the one before.
    expect(await blamedOf(running)).toEqual([]);
    await end(running);
  });
});
