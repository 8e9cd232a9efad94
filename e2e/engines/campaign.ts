/** Engines of others in ways that the smokes of CI leave out; started by `npm run campaign -- engines`. */
import { startSystem, type CoxswainSystem } from '@coxswain/local-cluster';
import { temporaryDirectory } from '@coxswain/test-harness';
import { createProject, type TestProject } from '../support/project.ts';
import { ELASTIC_ENVIRONMENT, loseNode } from './elastic-deepspeed.ts';
import { deepSpeed, plainScript, torchTitan, trainer, type EngineCase } from './jobs.ts';
import { OPTION_CASES, tryOptions } from './options.ts';
import { complaintsAbout, trainThroughKill, trainUndisturbed } from './runs.ts';

interface Row {
  readonly name: string;
  readonly run: (system: CoxswainSystem, project: TestProject) => Promise<readonly string[]>;
}

const throughKill = (name: string, engine: EngineCase): Row => ({
  name: `${name}, through a kill`,
  run: async (system, project) => complaintsAbout(await trainThroughKill(system, project, engine), engine),
});

const ZERO2 = { dataParallelDegree: 2, states: { zeroStage: 2 as const } };

const ZERO3 = { dataParallelDegree: 2, states: { zeroStage: 3 as const } };

const ROWS: readonly Row[] = [
  throughKill('TorchTitan, TP2 x FSDP2 on four ranks', torchTitan({ steps: 30, saveEvery: 10 })),
  throughKill('DeepSpeed, AutoTP on two ranks', named('autotp', deepSpeed({ tensorParallelDegree: 2 }))),
  throughKill('DeepSpeed, ZeRO-2 under torchrun', named('torchrun', deepSpeed(ZERO2, { startedBy: 'torchrun' }))),
  throughKill('a plain script under ft_launcher', plainScript({ startedBy: 'ft_launcher' })),
  { name: 'the Trainer without GPUs trains with DDP where FSDP was asked for, and the job says so', run: becameDdp },
  {
    name: 'DeepSpeed on four ranks loses a node and goes on with two',
    run: (system, project) => loseNode(system, project, { isBack: false }),
  },
  {
    name: 'DeepSpeed goes on with four ranks once the node is back',
    run: (system, project) => loseNode(system, project, { isBack: true }),
  },
  ...OPTION_CASES.map((one) => ({
    name: `options of ${one.title}: contradictions are refused, others reach it, and it logs what is priced`,
    run: (_system: CoxswainSystem, project: TestProject) => tryOptions(project, one, temporaryDirectory('options')),
  })),
];

function named(by: string, engine: EngineCase): EngineCase {
  return { ...engine, name: `${engine.name}-${by}` };
}

/** Accelerate leaves FSDP away on ranks without GPUs. */
async function becameDdp(_system: CoxswainSystem, project: TestProject): Promise<readonly string[]> {
  const engine = named('fsdp', trainer({ steps: 20, layout: ZERO3 }));
  const { job } = await trainUndisturbed(project, engine);
  const [difference = 'nothing'] = job.attempts.at(-1)?.trained?.differences ?? [];
  return /DistributedDataParallel, which keeps a whole copy/.test(difference)
    ? []
    : [`what differs reads "${difference}"`];
}

/** Whether every row whose name contains the word held. */
async function main(word = ''): Promise<boolean> {
  const rows = ROWS.filter((row) => row.name.includes(word));
  if (rows.length === 0) {
    process.stderr.write(`No row contains "${word}". The rows are:\n${ROWS.map(({ name }) => `  ${name}\n`).join('')}`);
    return false;
  }
  const system = await startSystem({ shortLeases: true, operatorEnvironment: ELASTIC_ENVIRONMENT });
  let failed = 0;
  try {
    const project = await createProject(system, 'engines');
    for (const { name, run } of rows) {
      const started = performance.now();
      const complaints = await run(system, project).catch((error: unknown) => [String(error)]);
      const seconds = Math.round((performance.now() - started) / 1_000);
      process.stdout.write(`${complaints.length === 0 ? '✓' : '✗'} ${name} (${seconds} s)\n`);
      for (const complaint of complaints) process.stdout.write(`    ${complaint}\n`);
      if (complaints.length > 0) failed += 1;
    }
  } finally {
    await system.stop({ keepLogs: failed > 0 });
  }
  return failed === 0;
}

process.exitCode = (await main(process.argv[2])) ? 0 : 1;
