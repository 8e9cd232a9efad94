import { z } from 'zod';
import { json } from './json-variable.ts';

/** Where the administrator lets workers run, and what their pods carry. `pods` of the chart has the same keys. */
export const WorkerPlacement = z.strictObject({
  nodeSelector: z.record(z.string(), z.string()).default({}),
  tolerations: z
    .array(
      z.strictObject({
        key: z.string().optional(),
        operator: z.enum(['Exists', 'Equal', 'Lt', 'Gt']).optional(),
        value: z.string().optional(),
        effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
        tolerationSeconds: z.int().optional(),
      }),
    )
    .default([]),
  priorityClassName: z.string().default(''),
  labels: z.record(z.string(), z.string()).default({}),
  annotations: z.record(z.string(), z.string()).default({}),
});
export type WorkerPlacement = z.infer<typeof WorkerPlacement>;

/** Of the environment. */
export const workerVariables = {
  COXSWAIN_WORKER_PODS: json('{}', 'object such as {"nodeSelector":{"example.com/pool":"system"}}')
    .pipe(WorkerPlacement)
    .describe(
      'Where pods run that verify, convert, delete and read saves and kept logs, as a JSON object: nodeSelector, tolerations, priorityClassName, labels, annotations.',
    ),
};
