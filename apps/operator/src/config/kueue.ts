import { z } from 'zod';

/** Variables about queues of Kueue. */
export const kueueVariables = {
  COXSWAIN_KUEUE: z
    .stringbool()
    .default(false)
    .describe(
      'Whether jobs with label kueue.x-k8s.io/queue-name wait for quota of Kueue (kueue.x-k8s.io/v1beta2). False: the label means nothing.',
    ),
};
