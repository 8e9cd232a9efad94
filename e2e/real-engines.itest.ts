/** Engines of others, as their projects release them, through the whole control plane on CPU ranks: one run of each. The rest is `npm run campaign -- engines`. */
import { startSystem, type CoxswainSystem } from '@coxswain/local-cluster';
import { deepSpeed, plainScript, torchTitan, trainer, type EngineCase } from './engines/jobs.ts';
import { complaintsAbout, trainOnAnotherLayout, trainThroughKill, trainUndisturbed } from './engines/runs.ts';
import { createProject, type TestProject } from './support/project.ts';

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await startSystem();
  project = await createProject(system, 'engines');
});

afterAll(async () => {
  await system.stop();
});

describe('an engine of others trains, its checkpoints are kept, and a rank that is killed is named and costs a restart', () => {
  const cases: readonly (readonly [string, EngineCase])[] = [
    ['DeepSpeed, ZeRO-2 on two ranks', deepSpeed({ dataParallelDegree: 2, states: { zeroStage: 2 } })],
    ['the Trainer of Transformers, DDP on two ranks', trainer()],
    ['a plain script under torchrun in two pods, DDP on four ranks', plainScript({ pods: 2 })],
  ];
  it.each(cases)('%s', async (_engine, engine) => {
    const ran = await trainThroughKill(system, project, engine);
    expect(complaintsAbout(ran, engine)).toEqual([]);
  });
});

describe('a script whose job asks for sharded states (ZeRO-3) and that wraps its model in DDP', () => {
  it('trains to its end, and its condition says that each rank keeps a whole copy', async () => {
    const asked = plainScript({ engine: 'custom', steps: 20, saveEvery: 20, layout: { states: { zeroStage: 3 } } });
    const { job } = await trainUndisturbed(project, { ...asked, name: 'not-sharded' });
    expect(job.attempts.at(-1)?.trained?.differences).toEqual([
      expect.stringMatching(
        /^Rank [01] trains with torch\.nn\.parallel\.distributed\.DistributedDataParallel, which keeps a whole copy of the model .* shards them over 2 ranks \(zeroStage 3\)\./,
      ),
    ]);
    expect(job.conditions.find(({ type }) => type === 'TrainedAsAsked')).toMatchObject({
      status: 'False',
      reason: 'LayoutDiffers',
    });
  });
});

describe('TorchTitan', () => {
  it('trains on two dimensions (TP2 x FSDP2), and goes on from what it saved there with FSDP2 on two ranks', async () => {
    const engine = torchTitan();
    const { complaints } = await trainOnAnotherLayout(project, engine, {
      dataParallelDegree: 2,
      states: { zeroStage: 3 },
    });
    expect(complaints).toEqual([]);
  });
});
