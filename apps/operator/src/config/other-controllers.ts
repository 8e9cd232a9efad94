import { z } from 'zod';

/** Variables about other controllers of the cluster. */
export const otherControllerVariables = {
  COXSWAIN_KUEUE: z
    .stringbool()
    .default(false)
    .describe(
      'Whether jobs with label kueue.x-k8s.io/queue-name wait for quota of Kueue (kueue.x-k8s.io/v1beta2). False: the label means nothing.',
    ),
  COXSWAIN_ANSWER_DRAINS_IN: z
    .string()
    .max(63)
    .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/, 'must be the name of a namespace')
    .default('')
    .describe(
      'Namespace whose DrainRequests of NVSentinel (nvsentinel.nvidia.com/v1alpha1) are answered: gangs save and leave the node. Empty: none are.',
    ),
  COXSWAIN_OBSERVE_NAMESPACES: z
    .string()
    .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?(,|$))*$/, 'must be names of namespaces, with commas between them')
    .default('')
    .describe(
      'Namespaces where pods of other controllers with label training.coxswain.dev/observe may report, with commas between them. Empty: none do. The chart then has no admission policy that wraps their command.',
    ),
};

/** What the operator does for other controllers. */
export interface OtherControllers {
  /** Whether jobs that name a queue of Kueue wait for its quota. */
  readonly followsKueue: boolean;
  /** Namespace of the DrainRequests of NVSentinel that it answers; undefined: none. Who may create them there can have any gang moved. */
  readonly answersDrainsIn: string | undefined;
  /** Namespaces where pods of other controllers may report. */
  readonly observedNamespaces: readonly string[];
}

export function otherControllers(env: {
  readonly COXSWAIN_KUEUE: boolean;
  readonly COXSWAIN_ANSWER_DRAINS_IN: string;
  readonly COXSWAIN_OBSERVE_NAMESPACES: string;
}): OtherControllers {
  const { COXSWAIN_ANSWER_DRAINS_IN: namespace } = env;
  return {
    followsKueue: env.COXSWAIN_KUEUE,
    answersDrainsIn: namespace === '' ? undefined : namespace,
    observedNamespaces: env.COXSWAIN_OBSERVE_NAMESPACES.split(',').filter((one) => one !== ''),
  };
}
