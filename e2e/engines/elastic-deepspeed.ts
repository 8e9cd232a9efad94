/** DeepSpeed on four ranks loses a node and goes on with two, and later with four again. The operator has its saves converted, and no person does anything. */
import { type Checkpoint, type Job, TrainingJobSpec } from '@coxswain/api-types';
import { loseNodes, type CoxswainSystem } from '@coxswain/local-cluster';
import { formatLayout, worldSize } from '@coxswain/layout';
import { jobIn, submit, type TestProject } from '../support/project.ts';
import { deepSpeed } from './jobs.ts';

/** Four GPUs are left, on two nodes. */
const OTHER_ISLAND = ['local-b0', 'local-b1'];
/** Four ranks that share two busy cores import DeepSpeed for minutes. */
const deadlineMs = 600_000;

/** Shortens the waits of an operator for GPUs. */
export const ELASTIC_ENVIRONMENT = {
  COXSWAIN_NODE_GRACE_MS: '2000',
  COXSWAIN_AVOIDED_NODE_MS: '2000',
  // Longer than a refusal stands at most although there is room again (10 s, libs/scheduling/src/capacity/refusals.ts).
  COXSWAIN_SHRINK_AFTER_MS: '12000',
  COXSWAIN_GROW_AFTER_MS: '2000',
  COXSWAIN_GROW_COSTS: '0',
};

/**
 * How the run differs from what it should be, as sentences. Prints what it saw. `isBack`: the node comes back once the job has saved without it, and the job takes
 * all GPUs again.
 */
export async function loseNode(
  system: CoxswainSystem,
  project: TestProject,
  { isBack }: { readonly isBack: boolean },
): Promise<readonly string[]> {
  const steps = isBack ? 160 : 60;
  const { spec } = deepSpeed({}, { steps, saveEvery: 10, stepDelayMs: 300 });
  const { layout: _, ...given } = spec;
  loseNodes(system, OTHER_ISLAND);
  try {
    const name = isBack ? 'deepspeed-grows' : 'deepspeed-shrinks';
    const { id } = await submit(project, name, TrainingJobSpec.parse({ ...given, gpus: 4, minGpus: 2 }));
    const running = (gpus: number, isReady: (job: Job) => boolean): Promise<Job> =>
      jobIn(project, id, ['Running'], { deadlineMs, and: (job) => isReady(job) && sizes(job).at(-1) === gpus });
    const whole = await running(4, ({ checkpoint }) => checkpoint !== null);
    loseNodes(system, [...OTHER_ISLAND, 'local-a1']);
    const saved = whole.checkpoint?.step ?? 0;
    await running(2, ({ progress, checkpoint }) =>
      isBack ? (checkpoint?.step ?? 0) > saved + 10 : (progress?.step ?? 0) > saved + 10,
    );
    const before = await conversions(system, project);
    if (isBack) loseNodes(system, OTHER_ISLAND);
    const job = await jobIn(project, id, ['Complete'], { deadlineMs });
    const all = new Map([...before, ...(await conversions(system, project))].map((one) => [one.metadata.name, one]));
    for (const line of [...job.attempts.map(describeAttempt), ...[...all.values()].map(describeConversion)])
      process.stdout.write(`    ${line}\n`);
    return problemsOf(job, [...all.values()], { steps, gpus: isBack ? '4,2,4' : '4,2' });
  } finally {
    loseNodes(system, []);
  }
}

const sizes = ({ attempts }: Job): readonly number[] => attempts.map(({ layout }) => worldSize(layout));

function problemsOf(
  job: Job,
  converted: readonly Checkpoint[],
  { steps, gpus }: { readonly steps: number; readonly gpus: string },
): readonly string[] {
  const names = new Set(converted.map(({ metadata }) => metadata.name));
  const [, ...later] = job.attempts;
  return [
    ...(sizes(job).join() === gpus ? [] : [`it ran on ${sizes(job).join(', ')} GPUs`]),
    ...later.flatMap(({ resumedFrom, lastStep }) => [
      ...(names.has(resumedFrom?.checkpoint ?? '') ? [] : [`it went on from ${resumedFrom?.checkpoint ?? 'scratch'}`]),
      ...((lastStep ?? 0) > (resumedFrom?.step ?? 0) ? [] : [`it made no step after ${resumedFrom?.step ?? 0}`]),
    ]),
    ...(job.progress?.step === steps ? [] : [`the last step is ${job.progress?.step ?? 0}`]),
  ];
}

async function conversions(system: CoxswainSystem, project: TestProject): Promise<readonly Checkpoint[]> {
  const answer = await system.plane.kubectl(['-n', project.name, 'get', 'checkpoints', '-o', 'json']);
  const { items } = JSON.parse(answer) as { readonly items: readonly Checkpoint[] };
  return items.filter(({ spec }) => spec.convertedFrom !== undefined);
}

function describeAttempt({ epoch, layout, outcome, reason, resumedFrom, lastStep }: Job['attempts'][number]): string {
  const from = resumedFrom === undefined ? 'from scratch' : `from step ${resumedFrom.step} (${resumedFrom.checkpoint})`;
  const { zeroStage = 0 } = layout.states ?? {};
  return `attempt ${epoch}: ${formatLayout(layout)}, ZeRO-${zeroStage}, ${from}, to step ${lastStep ?? 0}: ${outcome ?? 'none'} ${reason ?? ''}`;
}

function describeConversion({ metadata, spec, status }: Checkpoint): string {
  const { seconds = 0, writtenBytes = 0 } = status?.conversion ?? {};
  return `${metadata.name}: made of ${spec.convertedFrom?.checkpoint ?? ''} in ${seconds} s, ${writtenBytes} bytes`;
}
