/** How many standbys does a job have, and with which other fields can it have none? */
import { z } from 'zod';
import { MAX_STANDBYS } from './attempt.ts';
import type { CelRule } from './cel.ts';

/** `spec.standby`. */
export const Standby = z
  .int()
  .min(0)
  .max(MAX_STANDBYS)
  .optional()
  .describe(
    'Standbys: pods beside the gang that hold GPUs, are measured by the preflight, and start no rank. If a pod of the gang or its node is lost, a standby takes its place, the other pods stay, and the ranks restart from the newest checkpoint. An attempt has as many as nodes of the kind of its gang are free. They count in every quota. It can change while the job is suspended. Absent: 0.',
  );

const STANDBYS_NEED_CHECKPOINTS =
  'standby needs checkpoint: a standby takes the place of a pod only if the ranks resume from a checkpoint; add checkpoint, or leave standby out';
const STANDBYS_NEED_IN_PLACE =
  'standby needs restartPolicy.inPlace WhenPossible, because the other pods stay; leave inPlace out, or leave standby out';
const NO_STANDBYS_OF_ELASTIC =
  'standby cannot be combined with minGpus: a job that goes on with fewer GPUs after a loss needs no standby; leave one of them out';
const NO_STANDBYS_ACROSS_ISLANDS =
  'standby needs resources.acrossIslands Never, because a standby must be in the island of the pod that it replaces; leave acrossIslands out, or leave standby out';

interface WithStandbys {
  readonly standby?: number | undefined;
  readonly checkpoint?: unknown;
  readonly restartPolicy: { readonly inPlace: string };
  readonly minGpus?: number | undefined;
  readonly resources: { readonly acrossIslands?: string | undefined };
}

/** What no job with standbys may have: in CEL, here, and in words. */
const REFUSED: readonly {
  readonly unless: string;
  readonly isRefused: (spec: WithStandbys) => boolean;
  readonly message: string;
}[] = [
  {
    unless: 'has(self.checkpoint)',
    isRefused: ({ checkpoint }) => checkpoint === undefined,
    message: STANDBYS_NEED_CHECKPOINTS,
  },
  {
    unless:
      "!has(self.restartPolicy) || !has(self.restartPolicy.inPlace) || self.restartPolicy.inPlace == 'WhenPossible'",
    isRefused: ({ restartPolicy }) => restartPolicy.inPlace !== 'WhenPossible',
    message: STANDBYS_NEED_IN_PLACE,
  },
  {
    unless: '!has(self.minGpus)',
    isRefused: ({ minGpus }) => minGpus !== undefined,
    message: NO_STANDBYS_OF_ELASTIC,
  },
  {
    unless: "!has(self.resources) || !has(self.resources.acrossIslands) || self.resources.acrossIslands == 'Never'",
    isRefused: ({ resources }) => (resources.acrossIslands ?? 'Never') !== 'Never',
    message: NO_STANDBYS_ACROSS_ISLANDS,
  },
];

/** The same for the API server. */
export const STANDBY_RULES: readonly CelRule[] = [
  ...REFUSED.map(({ unless, message }) => ({
    rule: `!has(self.standby) || self.standby == 0 || ${unless}`,
    message,
    fieldPath: '.standby',
  })),
  {
    rule: 'oldSelf.suspend || (has(self.standby) == has(oldSelf.standby) && (!has(self.standby) || self.standby == oldSelf.standby))',
    message: 'standby may change only while the job is suspended; set suspend to true first',
    fieldPath: '.standby',
  },
];

/** Reports each reason for which the job cannot have standbys. */
export function refuseStandbys(spec: WithStandbys, context: z.RefinementCtx): void {
  if ((spec.standby ?? 0) === 0) return;
  for (const { isRefused, message } of REFUSED)
    if (isRefused(spec)) context.addIssue({ code: 'custom', path: ['standby'], message });
}
