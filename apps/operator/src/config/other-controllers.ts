import { z } from 'zod';

/** Variables about other controllers of the cluster. */
export const otherControllerVariables = {
  COXSWAIN_KUEUE: z
    .stringbool()
    .default(false)
    .describe(
      'Whether jobs with label kueue.x-k8s.io/queue-name wait for quota of Kueue (kueue.x-k8s.io/v1beta2). False: the label means nothing.',
    ),
  COXSWAIN_ANSWER_DRAINS: z
    .stringbool()
    .default(false)
    .describe(
      'Whether DrainRequests of NVSentinel (nvsentinel.nvidia.com/v1alpha1) are answered: gangs save and leave the node. False: they mean nothing.',
    ),
};

/** What the operator does for other controllers. */
export interface OtherControllers {
  /** Whether jobs that name a queue of Kueue wait for its quota. */
  readonly followsKueue: boolean;
  /** Whether it answers DrainRequests of NVSentinel. */
  readonly answersDrains: boolean;
}

export function otherControllers(env: {
  readonly COXSWAIN_KUEUE: boolean;
  readonly COXSWAIN_ANSWER_DRAINS: boolean;
}): OtherControllers {
  return { followsKueue: env.COXSWAIN_KUEUE, answersDrains: env.COXSWAIN_ANSWER_DRAINS };
}
