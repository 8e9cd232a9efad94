import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_MARKS, type Attempt, type Job, type TrainingJobSpec } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { loseNodes, startSystem, type CoxswainSystem } from '@coxswain/local-cluster';
import { brokenInvariants, expectRowsToEqualCluster } from './support/audit.ts';
import { gptSpec } from './support/jobs.ts';
import { lossCurve } from './support/loss-curve.ts';
import { createProject, jobIn, ranksOf, submit, type TestProject } from './support/project.ts';

/** As in training.itest.ts: sums in another order differ in the last bits only. */
const LOSS_TOLERANCE = 1e-5;
const STEPS = 120;
const deadlineMs = 300_000;
const OTHER_ISLAND = ['local-b0', 'local-b1'];

let system: CoxswainSystem;
let project: TestProject;
/** What each step's loss is where nothing happens. */
let undisturbed: ReadonlyMap<number, number>;

function spec(gpus: number, minGpus?: number): TrainingJobSpec {
  const { layout: _, model, training, ...given } = gptSpec();
  if (model === undefined || training === undefined) throw new Error('the job has no model');
  return {
    ...given,
    // Slow enough to lose a node, and to be seen to train on, in the middle of it.
    model: { ...model, layers: 4, sequenceLength: 256 },
    training: { ...training, steps: STEPS },
    gpus,
    ...(minGpus === undefined ? {} : { minGpus }),
  };
}

/** Those nodes are switched off from now on, and no others. */
function lose(...names: readonly string[]): void {
  loseNodes(system, names);
}

const curve = (id: string): Promise<ReadonlyMap<number, number>> => lossCurve(project, { id, steps: STEPS });

const gangs = ({ attempts }: Pick<Job, 'attempts'>): readonly (readonly [number, ...unknown[]])[] =>
  attempts.map(({ layout, outcome, reason }: Attempt) => [worldSize(layout), outcome, reason]);

beforeAll(async () => {
  system = await startSystem({
    shortLeases: true,
    operatorEnvironment: {
      COXSWAIN_NODE_GRACE_MS: '2000',
      COXSWAIN_AVOIDED_NODE_MS: '2000',
      // Longer than a refusal stands at most although there is room again (10 s, libs/scheduling/src/capacity/refusals.ts).
      COXSWAIN_SHRINK_AFTER_MS: '12000',
      COXSWAIN_GROW_AFTER_MS: '2000',
      // The job ends within minutes, and its ranks share two processors: growth would not pay.
      COXSWAIN_GROW_COSTS: '0',
    },
  });
  project = await createProject(system, 'elastic');
});

afterAll(async () => {
  await system.stop();
});

describe('a real GPT that goes on with fewer GPUs', () => {
  it('shrinks when a node is lost and none is spare, grows when it is back, and trains as if nothing had been', async () => {
    const reference = await submit(project, 'undisturbed', spec(4));
    await jobIn(project, reference.id, ['Complete'], { deadlineMs });
    undisturbed = await curve(reference.id);
    lose(...OTHER_ISLAND);
    const job = await submit(project, 'elastic', spec(4, 2));
    const isSaved = ({ checkpoint }: Job): boolean => checkpoint !== null;
    const running = await jobIn(project, job.id, ['Running'], { deadlineMs, and: isSaved });
    expect(gangs(running)).toEqual([[4, undefined, undefined]]);
    lose(...OTHER_ISLAND, 'local-a1');
    const fewer = await jobIn(project, job.id, ['Running'], {
      deadlineMs,
      and: ({ attempts }) => gangs({ attempts: attempts.slice(-1) }).some(([size]) => size === 2),
    });
    expect(fewer.summary).toMatch(/fewer than the 4 it asks for/);
    lose(...OTHER_ISLAND);
    const done = await jobIn(project, job.id, ['Complete'], { deadlineMs });
    expect(gangs(done)).toEqual([
      // Its peers fail first, and are to begin again in their pods: then the lost one does not answer.
      [4, 'Failed', expect.stringMatching(/^(NodeLost|NotReaped)$/)],
      [2, 'Resized', 'GpusFree'],
      [4, 'Succeeded', undefined],
    ]);
    const seen = await curve(job.id);
    expect([...seen.keys()]).toEqual([...undisturbed.keys()]);
    const worst = Math.max(...[...seen].map(([step, loss]) => Math.abs(loss - (undisturbed.get(step) ?? Infinity))));
    expect(worst).toBeLessThan(LOSS_TOLERANCE);
  });

  it('saves ahead of a node that will go away and stays; leaves it when it is to go, and trains as if nothing had been', async () => {
    lose();
    const { checkpoint, ...given } = spec(4);
    if (checkpoint === undefined) throw new Error('the job keeps no checkpoints');
    // It saves by no schedule: whatever is saved was asked for. Before it is moved it trains slowly, because status shows a step up to 15 s
    // late, by which time a fast machine has trained to the end.
    const folder = mkdtempSync(join(tmpdir(), 'elastic-'));
    const moved = join(folder, 'moved');
    const job = await submit(project, 'moved', {
      ...given,
      engine: { ...given.engine, args: ['--step-delay-ms', '2000', '--step-delay-until', moved] },
      checkpoint: { ...checkpoint, everySteps: 1_000 },
    });
    await jobIn(project, job.id, ['Running'], { deadlineMs, and: ({ progress }) => (progress?.step ?? 0) > 2 });
    const places = await ranksOf(project, { id: job.id, count: 4 });
    const node = places[0]?.node ?? '';
    const inHalfAnHour = new Date(Date.now() + 1_800_000).toISOString();
    await system.plane.kubectl(['annotate', 'node', node, `${NODE_MARKS.maintenance}=${inHalfAnHour}`]);
    const saved = await jobIn(project, job.id, ['Running'], {
      deadlineMs,
      // The checkpoint is recorded by itself, a moment before or after what became of the request.
      and: ({ attempts, checkpoint }) => attempts[0]?.earlySave?.outcome !== undefined && checkpoint !== null,
    });
    expect(saved.attempts).toMatchObject([{ stage: 'Released', earlySave: { request: 1, outcome: 'Saved' } }]);
    expect(saved.attempts[0]?.earlySave?.why).toContain(node);
    expect(saved.checkpoint?.step).toBe(saved.attempts[0]?.earlySave?.savedStep);
    await system.plane.kubectl(['annotate', '--overwrite', 'node', node, `${NODE_MARKS.maintenance}=now`]);
    await jobIn(project, job.id, ['Restarting', 'Queued', 'Starting', 'Running'], {
      deadlineMs,
      and: ({ attempts }) => attempts[0]?.outcome !== undefined,
    });
    writeFileSync(moved, '');
    const done = await jobIn(project, job.id, ['Complete'], { deadlineMs });
    await system.plane.kubectl(['annotate', 'node', node, `${NODE_MARKS.maintenance}-`]);
    expect(gangs(done)).toEqual([
      [4, 'Moved', 'NodeLeaving'],
      [4, 'Succeeded', undefined],
    ]);
    expect(done.restarts).toEqual({ total: 0, charged: 0 });
    // It saved where it stood, by no schedule, and lost no step.
    expect(done.attempts[1]?.resumedFrom?.step).toBe(done.attempts[0]?.lastStep);
    expect(done.attempts[0]?.message).toContain(node);
    const { items } = await project.api.incidents({ project: project.name, id: job.id });
    // Beside it a rank may have been slow: it is a real machine.
    expect(items.filter(({ kind }) => kind === 'NodeLeaving')).toMatchObject([
      { node, action: 'Moved', outcome: 'Recovered', redoneSteps: 0 },
    ]);
    const after = await ranksOf(project, { id: job.id, count: 4 });
    expect(after.map((place) => place.node)).not.toContain(node);
    const seen = await curve(job.id);
    const worst = Math.max(...[...seen].map(([step, loss]) => Math.abs(loss - (undisturbed.get(step) ?? Infinity))));
    expect(worst).toBeLessThan(LOSS_TOLERANCE);
    rmSync(folder, { recursive: true });
  });

  it('leaves no invariant broken, and rows that equal the cluster', async () => {
    expect(await brokenInvariants(system, project.name)).toEqual([]);
    await expectRowsToEqualCluster(system, project);
  });
});
