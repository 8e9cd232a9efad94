/** What is wanted of every engine, whoever made it: it is seen to train, its checkpoints are kept, and a rank that dies costs a restart and is named. */
import type { CheckpointRecord, Job } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import { killRank, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import type { z } from 'zod';
import { jobIn, submit, type TestProject } from '../support/project.ts';
import type { EngineCase } from './jobs.ts';

/** Ranks of these engines take half a minute to import what they need where they share two cores. */
export const DEADLINE_MS = 240_000;

export interface Ran {
  readonly job: Job;
  readonly checkpoints: readonly CheckpointRecord[];
  readonly steps: readonly { readonly step: number; readonly loss: number | null }[];
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
      ...(resumed === held.checkpoint?.step ? [] : [`it went on from step ${resumed}, not ${held.checkpoint?.step}`]),
    ],
  };
}

/** Everything that is told of a job that is done, once its last checkpoint is in the catalogue. */
export async function ranJob(project: TestProject, id: string, { steps, saveEvery }: EngineCase): Promise<Ran> {
  const at = { project: project.name, id };
  const last = Math.floor(steps / saveEvery) * saveEvery;
  const checkpoints = await waitFor(
    async () => {
      const { items } = await project.api.checkpoints(at);
      return items.some(({ step }) => step === last) && items;
    },
    { what: `the checkpoint of step ${last} to be listed` },
  );
  return { job: await project.api.job(at), checkpoints, steps: (await project.api.steps(at)).items };
}

/** How the run differs from what is wanted of every engine whose rank was killed, as sentences; none where all is well. */
export function complaintsAbout(ran: Ran, engine: EngineCase): readonly string[] {
  // And not that torchrun or ft_launcher ended with 1 because of it.
  const failure = new RegExp(`^Rank ${engine.victim} on node \\S+ was killed by SIGKILL`);
  const died = ran.job.attempts.flatMap(({ incarnations = [] }) => incarnations);
  const resumed = ran.job.attempts.at(-1)?.resumedFrom?.step ?? 0;
  return [
    ...notKept(ran, engine),
    ...(resumed === 0 ? ['it began again from scratch'] : []),
    ...(died.length === 1 ? [] : [`${died.length} incarnations failed, and one rank was killed`]),
    ...died.flatMap(({ message = '' }) => (failure.test(message) ? [] : [`the failure reads "${message}"`])),
  ];
}

/** Steps that nobody heard of, and checkpoints that are not in the catalogue. */
function notKept({ checkpoints, steps: told }: Ran, { format, steps, saveEvery }: EngineCase): readonly string[] {
  const kept = new Set(checkpoints.filter(({ state }) => state === 'Complete').map(({ step }) => step));
  const due = Array.from({ length: Math.floor(steps / saveEvery) }, (_, index) => (index + 1) * saveEvery);
  const missing = due.filter((step) => !kept.has(step));
  const last = told.at(-1)?.step ?? 0;
  return [
    ...(last === steps ? [] : [`of ${steps} steps ${last} is the last that was told of`]),
    ...(missing.length > 0 ? [`steps ${missing.join(', ')} were saved and are not in the catalogue`] : []),
    ...checkpoints.flatMap((one) => (one.format === format ? [] : [`step ${one.step} is listed as ${one.format}`])),
  ];
}
