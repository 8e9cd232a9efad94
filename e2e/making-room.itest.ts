import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attempt, Job, TrainingJobSpec } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { loseNodes, startSystem, type CoxswainSystem } from '@coxswain/local-cluster';
import { brokenInvariants, expectRowsToEqualCluster } from './support/audit.ts';
import { gptSpec } from './support/jobs.ts';
import { lossCurve } from './support/loss-curve.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';

/** As in training.itest.ts: sums in another order differ in the last bits only. */
const LOSS_TOLERANCE = 1e-5;
const STEPS = 100;
const deadlineMs = 300_000;

let system: CoxswainSystem;
let project: TestProject;

/** A GPT that the planner divides. `untilFile`: it trains slowly until that file exists, so that its end is far away. */
function elasticSpec(untilFile?: string): TrainingJobSpec {
  const { layout: _, model, training, ...given } = gptSpec();
  if (model === undefined || training === undefined) throw new Error('the job has no model');
  const args = ['--step-delay-ms', '8000', '--step-delay-until', untilFile ?? ''];
  return {
    ...given,
    ...(untilFile === undefined
      ? {}
      : { engine: { ...given.engine, args }, minGpus: 2, priorityClassName: 'room-low' }),
    model: { ...model, layers: 4, sequenceLength: 128 },
    training: { ...training, steps: STEPS },
    gpus: 4,
  };
}

const curve = (id: string): Promise<ReadonlyMap<number, number>> => lossCurve(project, { id, steps: STEPS });

const gangs = ({ attempts }: Pick<Job, 'attempts'>): readonly (readonly [number, ...unknown[]])[] =>
  attempts.map(({ layout, outcome, reason }: Attempt) => [worldSize(layout), outcome, reason]);

beforeAll(async () => {
  system = await startSystem({
    shortLeases: true,
    operatorEnvironment: {
      COXSWAIN_MAKE_ROOM: 'true',
      // The job is a minute old when it makes room.
      COXSWAIN_MAKE_ROOM_PROTECTED_MS: '1',
      COXSWAIN_MAKE_ROOM_PROTECTED_STARTS: '0',
      COXSWAIN_NODE_GRACE_MS: '2000',
    },
  });
  for (const [name, value] of [
    ['room-high', 100],
    ['room-low', 1],
  ])
    await system.plane.kubectl(['create', 'priorityclass', `${name}`, `--value=${value}`]);
  project = await createProject(system, 'room');
  await system.admin.updateProject(project.name, { priorityClasses: ['room-high', 'room-low'] });
});

afterAll(async () => {
  await system.stop();
});

describe('a real GPT that makes room for a job of higher priority', () => {
  it('saves, trains on with fewer GPUs, takes them back at once, and its loss is as if nothing had been', async () => {
    const reference = await submit(project, 'undisturbed', elasticSpec());
    await jobIn(project, reference.id, ['Complete'], { deadlineMs });
    const undisturbed = await curve(reference.id);
    // One island is left: four GPUs on two nodes.
    loseNodes(system, ['local-b0', 'local-b1']);
    const folder = mkdtempSync(join(tmpdir(), 'room-'));
    const fast = join(folder, 'fast');
    const low = await submit(project, 'low', elasticSpec(fast));
    const isMeasured = ({ progress }: Job): boolean => (progress?.step ?? 0) > 2;
    await jobIn(project, low.id, ['Running'], { deadlineMs, and: isMeasured });
    const { training, ...given } = gptSpec({ layout: { tensorParallelDegree: 2 }, priorityClassName: 'room-high' });
    if (training === undefined) throw new Error('the job has no training');
    const high = await submit(project, 'high', { ...given, training: { ...training, steps: 20 } });
    const made = await jobIn(project, low.id, ['Restarting', 'Queued', 'Starting', 'Running'], {
      deadlineMs,
      and: ({ attempts }) => attempts[0]?.forClaim !== undefined,
    });
    expect(made.attempts[0]).toMatchObject({ reason: 'MadeRoom', forClaim: { name: 'high', wayOut: 'Shrink' } });
    await jobIn(project, high.id, ['Complete'], { deadlineMs });
    const isBack = ({ attempts }: Job): boolean => attempts.length === 3;
    await jobIn(project, low.id, ['Running'], { deadlineMs, and: isBack });
    writeFileSync(fast, '');
    const done = await jobIn(project, low.id, ['Complete'], { deadlineMs });
    rmSync(folder, { recursive: true });
    expect(gangs(done)).toEqual([
      [4, 'Moved', 'MadeRoom'],
      [2, 'Resized', 'GpusFree'],
      [4, 'Succeeded', undefined],
    ]);
    expect(done.restarts).toEqual({ total: 0, charged: 0 });
    // It saved before each stop, and lost no step.
    for (const [index, { lastStep }] of done.attempts.slice(0, 2).entries())
      expect(done.attempts[index + 1]?.resumedFrom?.step).toBe(lastStep);
    const seen = await curve(low.id);
    expect([...seen.keys()]).toEqual([...undisturbed.keys()]);
    const worst = Math.max(...[...seen].map(([step, loss]) => Math.abs(loss - (undisturbed.get(step) ?? Infinity))));
    expect(worst).toBeLessThan(LOSS_TOLERANCE);
  });

  it('leaves no invariant broken, and rows that equal the cluster', async () => {
    expect(await brokenInvariants(system, project.name)).toEqual([]);
    await expectRowsToEqualCluster(system, project);
  });
});
