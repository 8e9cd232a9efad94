import { z } from 'zod';
import { type HistoryJob, HistoryError, LeftOut, podsOf, type ReadHistory } from './history-job.ts';

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)), 'is not a time such as 2026-01-31T12:00:00Z');
const Attempts = z.array(z.object({ startedAt: time, endedAt: time.optional() }));
const Plan = z.object({ predictedStepMs: z.number().optional(), predictedStepHighMs: z.number().optional() });
const Layout = z.record(z.string(), z.unknown());
const Spec = z.object({
  gpus: z.number().optional(),
  layout: Layout.optional(),
  training: z.object({ steps: z.number().optional() }).optional(),
  resources: z.object({ gpusPerNode: z.number().optional() }).optional(),
});

/** A TrainingJob, as `kubectl get trainingjobs --output json` prints it. */
const Resource = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string().optional(), uid: z.string(), creationTimestamp: time }),
  spec: Spec,
  status: z
    .object({
      askedAt: time.optional(),
      attempts: Attempts.optional(),
      plan: Plan.optional(),
      progress: z.object({ totalSteps: z.number().nullish() }).optional(),
    })
    .optional(),
});

/** A job of the API, as `coxswain get JOB --output json` prints it. */
const ApiJob = z.object({
  id: z.string(),
  namespace: z.string(),
  gpus: z.number(),
  createdAt: time,
  attempts: Attempts,
  totalSteps: z.number().nullish(),
  plan: Plan.nullish(),
  spec: Spec.optional(),
});

interface Facts {
  readonly id: string;
  readonly namespace: string;
  readonly gpus: number;
  readonly gpusPerNode: number | undefined;
  readonly submitMs: number;
  readonly attempts: z.infer<typeof Attempts>;
  readonly steps: number | undefined;
  readonly plan: z.infer<typeof Plan> | undefined;
}

/**
 * Jobs of Coxswain in a JSON document: one job, an array of them, or an object with `items`. A job holds its GPUs from the start of its first
 * recorded attempt to the end of its last one. Throws a {@link HistoryError} that names the job and its field.
 */
export function parseCoxswainJobs(
  document: unknown,
  { file, gpusPerNode }: { file: string; gpusPerNode: number },
): ReadHistory {
  const leftOut = new LeftOut();
  const jobs = itemsOf(document).flatMap((item, index) => {
    const at = `${file}, job ${index + 1}`;
    const facts = factsOf(item, at);
    const [first] = facts.attempts;
    if (first === undefined) {
      leftOut.add('that never started');
      return [];
    }
    const pods = podsOf(facts.gpus, { gpusPerNode: Math.min(gpusPerNode, facts.gpusPerNode ?? gpusPerNode) });
    if (pods === undefined) throw new HistoryError(`${at}, field gpus: ${facts.gpus} is not a number of GPUs`);
    return [jobOf(facts, { ...pods, startedAt: first.startedAt })];
  });
  return { jobs, leftOut: leftOut.list() };
}

function itemsOf(document: unknown): readonly unknown[] {
  if (Array.isArray(document)) return document;
  const { items } = (document ?? {}) as { readonly items?: unknown };
  return Array.isArray(items) ? items : [document];
}

function factsOf(item: unknown, at: string): Facts {
  if (typeof item === 'object' && item !== null && 'metadata' in item) return factsOfResource(read(Resource, item, at));
  const job = read(ApiJob, item, at);
  return {
    id: job.id,
    namespace: job.namespace,
    gpus: job.gpus,
    gpusPerNode: job.spec?.resources?.gpusPerNode,
    submitMs: Date.parse(job.createdAt),
    attempts: job.attempts,
    steps: job.totalSteps ?? undefined,
    plan: job.plan ?? undefined,
  };
}

function factsOfResource({ metadata, spec, status }: z.infer<typeof Resource>): Facts {
  const degrees = Object.values(spec.layout ?? {}).filter((degree) => typeof degree === 'number');
  const attempts = status?.attempts ?? [];
  return {
    id: metadata.uid,
    namespace: metadata.namespace ?? '',
    gpus: spec.gpus ?? degrees.reduce((product, degree) => product * degree, 1),
    gpusPerNode: spec.resources?.gpusPerNode,
    submitMs: Math.min(Date.parse(status?.askedAt ?? metadata.creationTimestamp), ...startsOf(attempts)),
    attempts,
    steps: status?.progress?.totalSteps ?? spec.training?.steps,
    plan: status?.plan,
  };
}

function startsOf(attempts: z.infer<typeof Attempts>): readonly number[] {
  return attempts.map(({ startedAt }) => Date.parse(startedAt));
}

function jobOf(
  { id, namespace, submitMs, attempts, steps, plan }: Facts,
  { startedAt, ...pods }: Pick<HistoryJob, 'pods' | 'gpusPerPod'> & { readonly startedAt: string },
): HistoryJob {
  const startMs = Date.parse(startedAt);
  const endedAt = attempts.at(-1)?.endedAt;
  const end = endedAt === undefined ? {} : { endMs: Math.max(startMs + 1, Date.parse(endedAt)) };
  const known = { id, namespace, ...pods, submitMs: Math.min(submitMs, startMs), startMs, ...end };
  if (steps === undefined || plan?.predictedStepMs === undefined) return known;
  const latestMs = steps * (plan.predictedStepHighMs ?? plan.predictedStepMs);
  return { ...known, predicted: { runMs: steps * plan.predictedStepMs, latestMs } };
}

function read<T>(schema: z.ZodType<T>, value: unknown, at: string): T {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error?.issues ?? [];
  const field = issue?.path.join('.') ?? '';
  const where = field === '' ? at : `${at}, field ${field}`;
  const hint =
    field === 'attempts'
      ? '. Lists have no attempts: use coxswain get JOB --output json, or kubectl get trainingjobs --output json'
      : '';
  throw new HistoryError(`${where}: ${issue?.message ?? 'is not a job'}${hint}`);
}
