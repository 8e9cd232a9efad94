/** Why does a job not train yet, and which smallest change helps? One answer for the API, the command line and the dashboard. */
import { z } from 'zod';
import { type Condition, type ConditionType, findCondition } from './conditions.ts';

/** Why a job does not train yet. */
export const StartVerdict = z
  .object({
    reason: z
      .string()
      .describe('Stable name: the reason of the condition that it stands on, or Submitted, NotApplied.'),
    condition: z.string().nullable().describe('Type of that condition; null: none was written yet.'),
    sentence: z.string().describe('What the job waits for, in the words of its condition.'),
    change: z
      .string()
      .nullable()
      .describe('The smallest change that helps; null: none is needed, the job continues by itself.'),
    object: z
      .object({ kind: z.string(), name: z.string() })
      .nullable()
      .describe('The object that the change is about; null: the job itself, or none.'),
  })
  .meta({ id: 'StartVerdict' });
export type StartVerdict = z.infer<typeof StartVerdict>;

/** What a verdict stands on. A job that was not submitted yet has the conditions that it would get. */
export interface StartFacts {
  readonly name: string;
  readonly namespace: string;
  readonly state: string;
  readonly summary: string;
  readonly conditions: readonly Condition[];
  /** Why the last change of the job has not reached the cluster. */
  readonly applyFailure: { readonly message: string } | null;
}

/** States of a job that needs no verdict: it has ended, or it stops because a person asked for that. */
const WITHOUT_VERDICT: readonly string[] = [
  ...['Complete', 'Failed', 'Cancelled', 'Deleted', 'Refused'],
  ...['Suspending', 'Stopping', 'Deleting'],
];

/** Conditions in the order in which a job passes them. */
const STEPS: readonly ConditionType[] = ['Accepted', 'Placed', 'Running'];

/** The verdict; undefined: every rank has started, or the job has ended. */
export function whyNotTraining(facts: StartFacts): StartVerdict | undefined {
  if (WITHOUT_VERDICT.includes(facts.state)) return undefined;
  const { conditions, applyFailure } = facts;
  const suspended = findCondition(conditions, 'Suspended');
  if (suspended?.status === 'True' && facts.state === 'Suspended')
    return verdictOf(facts, { ...suspended, message: facts.summary });
  // What the conditions say was true before the resume.
  if (suspended?.status === 'True')
    return applyFailure === null ? notObserved(facts.summary) : notApplied(facts, 'The resume', applyFailure.message);
  const first = STEPS.flatMap((type) => findCondition(conditions, type) ?? []).find(({ status }) => status === 'False');
  if (first !== undefined) return verdictOf(facts, first);
  // A job with conditions is in the cluster: a change of it that is not there stops no rank.
  if (conditions.length > 0) return undefined;
  if (applyFailure !== null) return notApplied(facts, 'The job', applyFailure.message);
  return notObserved('The job is submitted; the operator has not written its status yet.');
}

function notObserved(sentence: string): StartVerdict {
  return { reason: 'Submitted', condition: null, sentence: firstLineOf(sentence), change: null, object: null };
}

function notApplied(facts: StartFacts, what: string, message: string): StartVerdict {
  const sentence = `${what} has not reached the cluster: ${firstLineOf(message)}`;
  return { reason: 'NotApplied', condition: null, sentence, ...effectOf(facts, { key: NOT_APPLIED, message }) };
}

function firstLineOf(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

function verdictOf(facts: StartFacts, { type, reason, message }: Condition): StartVerdict {
  return {
    reason,
    condition: type,
    sentence: firstLineOf(message),
    ...effectOf(facts, { key: `${type}/${reason}`, message }),
  };
}

/** A rule: which sentence it reads, and what follows. Groups `name` of the pattern is the object's name. */
interface Rule {
  readonly of: readonly string[];
  readonly pattern?: RegExp;
  readonly kind?: string;
  /** `name`: of the object, or the job's; `said`: the whole match. */
  readonly change:
    | ((about: {
        readonly name: string;
        readonly namespace: string;
        readonly job: string;
        /** Group `needed` of the pattern. */
        readonly needed: string;
      }) => string)
    | null;
}

/** Stands in rules for a change that has not reached the cluster. */
const NOT_APPLIED = 'NotApplied';
/** Reasons for which the API server denied something. */
const DENIED = ['Placed/PodsRefused', 'Running/Denied', NOT_APPLIED];
const STUCK = ['Running/PodStuck', 'Running/PodsStarting', 'Running/PodsCreating'];

/** The first rule that matches counts. A reason without a rule needs no change. */
const RULES: readonly Rule[] = [
  {
    of: ['Accepted/SpecInvalid'],
    change: ({ job }) => `Correct the field that the sentence names and submit ${job} again.`,
  },
  { of: ['Accepted/NameTaken'], change: ({ job }) => `Choose another name, or delete job ${job}.` },
  {
    of: ['Accepted/LayoutInvalid'],
    change: ({ job }) =>
      `Use the nearest legal value that the sentence names, or leave the layout to the planner: set spec.gpus of ${job} and no layout.`,
  },
  {
    of: ['Accepted/NoLayoutFits'],
    change: () =>
      'Change the first rule that the sentence names: other GPUs, a smaller model, a shorter sequence or more GPUs.',
  },
  { of: ['Accepted/EngineRefused'], change: () => 'Use the alternative that the sentence names.' },
  {
    of: ['Accepted/RuntimeRefused'],
    pattern: /\b(?<kind>(?:Cluster)?TrainingRuntime) (?<name>[^\s;,]+)/,
    change: ({ name }) => `Create or correct runtime ${name}, or name another one in spec.runtimeRef.`,
  },
  {
    of: ['Placed/ObjectMissing'],
    pattern: /^(?<kind>PersistentVolumeClaim|ConfigMap) (?<name>\S+) \([^)]*\) is being deleted/,
    change: ({ name, namespace }) =>
      `Name another one, or create ${name} again once namespace ${namespace} no longer has it.`,
  },
  {
    of: ['Placed/ObjectMissing'],
    pattern: /^(?<kind>PersistentVolumeClaim) (?<name>\S+) \([^)]*\) has lost its volume/,
    change: ({ name }) => `Name another claim, or ask the cluster administrator to restore the volume of ${name}.`,
  },
  {
    of: ['Placed/ObjectMissing'],
    pattern: /^(?<kind>PersistentVolumeClaim|ConfigMap) (?<name>\S+) \((?<field>[^)]*)\)/,
    change: ({ name, namespace }) => `Create ${name} in namespace ${namespace}, or name one that exists.`,
  },
  {
    of: ['Placed/PriorityClassMissing'],
    pattern: /^(?<kind>PriorityClass) (?<name>\S+)/,
    change: ({ name, job }) =>
      `Name a class that exists in spec.priorityClassName of ${job}, or ask the cluster administrator to create ${name}.`,
  },
  {
    of: DENIED,
    pattern: /exceeded quota: (?<name>[^\s,]+)/,
    kind: 'ResourceQuota',
    change: ({ name, namespace }) =>
      `Raise ResourceQuota ${name} of namespace ${namespace}, end other jobs there, or ask for less.`,
  },
  {
    of: DENIED,
    pattern: /failed calling webhook "(?<name>[^"]+)"/,
    kind: 'Webhook',
    change: ({ name }) => `Ask the cluster administrator to restore webhook ${name}; it does not answer.`,
  },
  {
    of: DENIED,
    pattern: /admission webhook "(?<name>[^"]+)" denied/,
    kind: 'Webhook',
    change: ({ name, job }) =>
      `Change ${job} as webhook ${name} requires, or ask the cluster administrator for an exception.`,
  },
  {
    of: DENIED,
    pattern: /(?<kind>(?:Validating|Mutating)AdmissionPolicy) '(?<name>[^']+)'/,
    change: ({ name, job }) =>
      `Change ${job} as policy ${name} requires, or ask the cluster administrator for an exception.`,
  },
  {
    of: DENIED,
    pattern: /serviceaccount "(?:[^"/]*\/)?(?<name>[^"]+)" not found/,
    kind: 'ServiceAccount',
    change: ({ name, namespace }) => `Create ServiceAccount ${name} in namespace ${namespace}.`,
  },
  {
    of: DENIED,
    pattern: /no PriorityClass with name (?<name>\S+) was found/,
    kind: 'PriorityClass',
    change: ({ name }) => `Create PriorityClass ${name}, or use a runtime that names another one.`,
  },
  {
    of: DENIED,
    pattern: /violates PodSecurity "(?<name>[^"]+)"/,
    kind: 'PodSecurity',
    change: ({ name, namespace }) =>
      `Use a runtime whose pods satisfy PodSecurity ${name}, or ask for another level of namespace ${namespace}.`,
  },
  {
    of: [NOT_APPLIED],
    change: () => 'Coxswain tries again by itself. If the sentence stays, show it to the cluster administrator.',
  },
  {
    of: DENIED,
    change: ({ namespace }) => `Change what the sentence names, or ask the administrator of namespace ${namespace}.`,
  },
  {
    of: ['Placed/WaitingForCapacity', 'Placed/TopologyUnsatisfiable'],
    pattern: /[Ii]t would start now if you (?<name>.+?)\.(?:\s|$)/,
    kind: '',
    change: ({ name }) => `To start now, ${name}.`,
  },
  {
    of: ['Placed/WaitingForCapacity'],
    // Waiting alone does not help.
    pattern: /\bha(?:s|ve) (?<name>\d+) in all/,
    kind: '',
    change: ({ name }) =>
      `${name === '0' ? 'Ask' : `Ask for at most ${name} GPUs, or ask`} the cluster administrator for nodes with GPUs.`,
  },
  {
    of: ['Placed/WaitingForCapacity'],
    pattern: /Needs (?<needed>\d+) GPUs?\b.*?\b(?<name>[1-9]\d*) of \d+ GPUs are free/,
    kind: '',
    change: ({ name, needed }) =>
      Number(name) < Number(needed)
        ? `None is needed if you wait for GPUs. To start now, ask for at most ${name} GPUs.`
        : 'None is needed if you wait for GPUs. Enough are free, but not together: to start sooner, ask for fewer GPUs per node.',
  },
  {
    of: ['Placed/WaitingForCapacity'],
    change: () => 'None is needed if you wait for GPUs. To start sooner, ask for fewer.',
  },
  {
    of: ['Placed/TopologyUnsatisfiable'],
    change: () => 'Follow the sentence: fewer GPUs in a tensor group, or a wider resources.acrossIslands.',
  },
  { of: ['Placed/WaitingForPlan'], change: () => 'Add a node with GPUs to the cluster.' },
  {
    of: ['Placed/CheckpointsUnusable'],
    change: ({ job }) => `Choose where to continue: coxswain resume ${job} --from CHECKPOINT.`,
  },
  {
    of: ['Running/ImageUnavailable'],
    pattern: /^Image (?<name>\S+) /,
    kind: 'Image',
    change: ({ name }) => `Push image ${name}, correct spec.engine.image, or give the pods a pull secret.`,
  },
  {
    of: ['Running/SecretMissing', ...STUCK],
    pattern: /key (?<key>\S+) of Secret (?<name>[^\s,]+), and/,
    kind: 'Secret',
    change: ({ name, namespace }) => `Create Secret ${name} with that key in namespace ${namespace}.`,
  },
  {
    of: STUCK,
    pattern: /secret "(?<name>[^"]+)" not found/,
    kind: 'Secret',
    change: ({ name, namespace }) => `Create Secret ${name} in namespace ${namespace}.`,
  },
  {
    of: STUCK,
    pattern: /configmap "(?<name>[^"]+)" not found/,
    kind: 'ConfigMap',
    change: ({ name, namespace }) => `Create ConfigMap ${name} in namespace ${namespace}.`,
  },
  {
    of: STUCK,
    pattern: /persistentvolumeclaim "(?<name>[^"]+)" not found/,
    kind: 'PersistentVolumeClaim',
    change: ({ name, namespace }) => `Create PersistentVolumeClaim ${name} in namespace ${namespace}.`,
  },
  {
    of: ['Running/PodStuck'],
    pattern: /^Pod (?<name>\S+) /,
    kind: 'Pod',
    change: () => 'Correct what the kubelet names in the sentence.',
  },
  {
    of: ['Running/LaunchersSilent'],
    pattern: /^The launcher of pod (?<name>\S+) /,
    kind: 'Pod',
    change: ({ name, namespace }) =>
      `Run \`kubectl logs ${name} --namespace ${namespace}\`, and correct what the last line names.`,
  },
  { of: ['Suspended/SuspendRequested'], change: ({ job }) => `coxswain resume ${job}` },
];

function effectOf(
  { name: job, namespace }: Pick<StartFacts, 'name' | 'namespace'>,
  { key, message }: { readonly key: string; readonly message: string },
): Pick<StartVerdict, 'change' | 'object'> {
  for (const { of, pattern, kind, change } of RULES) {
    if (!of.includes(key)) continue;
    const groups = pattern?.exec(message)?.groups;
    if (pattern !== undefined && groups === undefined) continue;
    const name = groups?.['name'];
    const objectKind = groups?.['kind'] ?? kind ?? '';
    return {
      change: change === null ? null : change({ name: name ?? job, namespace, job, needed: groups?.['needed'] ?? '' }),
      object: name === undefined || objectKind === '' ? null : { kind: objectKind, name },
    };
  }
  return { change: null, object: null };
}
