/** What is wanted of every engine, whoever made it: it is seen to train, its checkpoints are kept, and a rank that dies costs a restart and is named. */
import type { CheckpointRecord, Job, RankPlace, StepPoint } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import { killRank, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import type { z } from 'zod';
import { jobIn, submit, type TestProject } from '../support/project.ts';
import type { EngineCase } from './jobs.ts';

/** Ranks of these engines take half a minute to import what they need where they share two cores. */
const DEADLINE_MS = 240_000;

export interface Ran {
  readonly job: Job;
  readonly checkpoints: readonly CheckpointRecord[];
  readonly steps: readonly StepPoint[];
  readonly ranks: readonly RankPlace[];
}

/** Submits the job, kills a rank once a checkpoint of it is in the catalogue, and gives what is known when it is done. */
export async function trainThroughKill(system: CoxswainSystem, project: TestProject, engine: EngineCase): Promise<Ran> {
  const job = await submit(project, engine.name, engine.spec);
  const running = await jobIn(project, job.id, ['Running'], {
    deadlineMs: DEADLINE_MS,
    and: ({ checkpoint }) => checkpoint !== null,
  });
  await killRank(system, { namespace: project.name, jobUid: running.uid ?? '', rank: engine.victim });
  await jobIn(project, job.id, ['Complete'], { deadlineMs: DEADLINE_MS });
  return await ranJob(project, job.id, engine);
}

/** Submits the job, suspends it once a checkpoint of it is in the catalogue, and has it go on with another layout; with what is not as it should be. */
export async function trainOnAnotherLayout(
  project: TestProject,
  engine: EngineCase,
  layout: z.input<typeof ParallelLayout>,
): Promise<{ readonly ran: Ran; readonly complaints: readonly string[] }> {
  const { id } = await submit(project, engine.name, engine.spec);
  const at = { project: project.name, id };
  await jobIn(project, id, ['Running'], { deadlineMs: DEADLINE_MS, and: ({ checkpoint }) => checkpoint !== null });
  await project.api.suspend(at);
  const held = await jobIn(project, id, ['Suspended'], { deadlineMs: DEADLINE_MS });
  await project.api.resume(at, { layout: ParallelLayout.parse(layout) });
  await jobIn(project, id, ['Complete'], { deadlineMs: DEADLINE_MS });
  const ran = await ranJob(project, id, engine);
  const resumed = ran.job.attempts.at(-1)?.resumedFrom?.step;
  return {
    ran,
    complaints: [
      ...notKept(ran, engine),
      ...notSeen(ran, engine),
      ...(resumed === held.checkpoint?.step ? [] : [`it went on from step ${resumed}, not ${held.checkpoint?.step}`]),
    ],
  };
}

/** Submits the job and gives what is known of it when it is done. */
export async function trainUndisturbed(project: TestProject, engine: EngineCase): Promise<Ran> {
  const { id } = await submit(project, engine.name, engine.spec);
  await jobIn(project, id, ['Complete'], { deadlineMs: DEADLINE_MS });
  return await ranJob(project, id, engine);
}

/** Everything that is told of a job that is done, once its last checkpoint is in the catalogue. */
async function ranJob(project: TestProject, id: string, { steps, saveEvery }: EngineCase): Promise<Ran> {
  const at = { project: project.name, id };
  const last = Math.floor(steps / saveEvery) * saveEvery;
  const checkpoints = await waitFor(
    async () => {
      const { items } = await project.api.checkpoints(at);
      return items.some(({ step }) => step === last) && items;
    },
    { what: `the checkpoint of step ${last} to be listed` },
  );
  const [job, recordedSteps, places] = await Promise.all([
    project.api.job(at),
    project.api.steps(at),
    project.api.ranks(at),
  ]);
  return { job, checkpoints, steps: recordedSteps.items, ranks: places.items };
}

/** How the run differs from what is wanted of every engine whose rank was killed, as sentences; none where all is well. */
export function complaintsAbout(ran: Ran, engine: EngineCase): readonly string[] {
  // And not that torchrun or ft_launcher ended with 1 because of it.
  const failure = new RegExp(`^Rank ${engine.victim} on node \\S+ was killed by SIGKILL`);
  const died = ran.job.attempts.flatMap(({ incarnations = [] }) => incarnations);
  const resumed = ran.job.attempts.at(-1)?.resumedFrom?.step ?? 0;
  return [
    ...notKept(ran, engine),
    ...notSeen(ran, engine),
    ...(resumed === 0 ? ['it began again from scratch'] : []),
    ...(died.length === 1 ? [] : [`${died.length} incarnations failed, and one rank was killed`]),
    ...died.flatMap(({ message = '' }) => (failure.test(message) ? [] : [`the failure reads "${message}"`])),
  ];
}

/** Steps that nobody heard of, and checkpoints that are not in the catalogue. */
function notKept(
  { checkpoints, steps: recordedSteps }: Ran,
  { format, steps, saveEvery }: EngineCase,
): readonly string[] {
  const kept = new Set(checkpoints.filter(({ state }) => state === 'Complete').map(({ step }) => step));
  const due = Array.from({ length: Math.floor(steps / saveEvery) }, (_, index) => (index + 1) * saveEvery);
  const missing = due.filter((step) => !kept.has(step));
  const last = recordedSteps.at(-1)?.step ?? 0;
  return [
    ...(last === steps ? [] : [`of ${steps} steps ${last} is the last that was told of`]),
    ...(missing.length > 0 ? [`steps ${missing.join(', ')} were saved and are not in the catalogue`] : []),
    ...checkpoints.flatMap((one) => (one.format === format ? [] : [`step ${one.step} is listed as ${one.format}`])),
  ];
}

/** What the API does not tell of the training itself: loss, tokens and their rate, every rank, and what it was seen to be. */
function notSeen({ job, steps, ranks }: Ran, { tellsLoss, tokensPerStep, seen }: EngineCase): readonly string[] {
  const losses = steps.filter(({ loss }) => loss !== null && loss > 0);
  const rates = steps.filter(({ tokens, tokensPerSecond }) => tokens === tokensPerStep && (tokensPerSecond ?? 0) > 0);
  const silent = ranks.filter(({ lastStep }) => lastStep === null);
  const sentence = job.attempts[0]?.trained?.seen ?? '';
  const differences = job.attempts.flatMap(({ trained }) => trained?.differences ?? ['no hook has told of an epoch']);
  return [
    ...(losses.length > 0 === tellsLoss ? [] : [`${losses.length} of ${steps.length} steps have a loss`]),
    ...(tokensPerStep === undefined || rates.length > 0 ? [] : [`no step has ${tokensPerStep} tokens and their rate`]),
    ...silent.map(({ rank }) => `rank ${rank} was never heard`),
    ...seen.flatMap((word) => (word.test(sentence) ? [] : [`"${sentence}" does not say ${String(word)}`])),
    ...differences,
  ];
}
