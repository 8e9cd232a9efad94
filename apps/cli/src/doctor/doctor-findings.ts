/** What does a cluster lack so that jobs wait in the right order, and start? Pure. */
import { FABRIC_NAME, FINAL_JOB_STATES, isSystemPriorityClass } from '@coxswain/api-types';
import {
  gpusOfQuota,
  podClassName,
  podClassOf,
  priorityClassFacts,
  type PriorityClassFacts,
  type QuotaObject,
} from '@coxswain/scheduling';
import { formatCount } from '@coxswain/units';
import { type KueueFinding, kueueFindings, type KueueObjects } from './kueue-findings.ts';
import type { ReadObject } from './read-object.ts';

/** Kinds that are read, and what each shows. */
export const DOCTOR_KINDS = {
  TrainingJob: 'which PriorityClasses jobs name',
  Fabric: 'whether nodes or windows have problems',
  PriorityClass: 'which PriorityClasses exist',
  ResourceQuota: 'how many GPUs each namespace may use',
  ValidatingAdmissionPolicy: 'whether naming a PriorityClass is checked',
  ValidatingAdmissionPolicyBinding: 'whether that check is in force',
} as const;

export type DoctorKind = keyof typeof DOCTOR_KINDS;

/** Objects by kind. `unserved`: the API server does not know the kind. A text says why the kind could not be read. */
export type DoctorObjects = Readonly<Record<DoctorKind, readonly ReadObject[] | 'unserved' | string>> & KueueObjects;

/** Something that is missing or wrong. */
export interface DoctorFinding {
  readonly kind:
    | 'NotInstalled'
    | 'NotRead'
    | 'OperatorAbsent'
    | 'FabricProblem'
    | 'ClassMissing'
    | 'PodClassMissing'
    | 'PolicyMissing'
    | 'QuotaTooSmall'
    | 'QuotaNotRead'
    | KueueFinding['kind'];
  readonly message: string;
}

/** What the objects of a cluster show, the most important first. */
export function doctorFindings(objects: DoctorObjects): readonly DoctorFinding[] {
  const { TrainingJob: jobs } = objects;
  if (jobs === 'unserved') {
    const message =
      'The cluster does not serve TrainingJobs, so Coxswain is not installed. Install its chart first: docs/tasks/install.md.';
    return [{ kind: 'NotInstalled', message }];
  }
  return [
    ...notRead(objects),
    ...ofFabric(objects.Fabric),
    ...ofClasses(listed(jobs), objects.PriorityClass),
    ...ofPolicy(objects),
    ...ofQuotas(listed(jobs), listed(objects.ResourceQuota)),
    ...kueueFindings(
      listed(jobs).filter((job) => !hasEnded(job)),
      objects,
    ),
  ];
}

function listed(objects: DoctorObjects[DoctorKind]): readonly ReadObject[] {
  return typeof objects === 'string' ? [] : objects;
}

function notRead(objects: DoctorObjects): readonly DoctorFinding[] {
  return (Object.keys(DOCTOR_KINDS) as DoctorKind[]).flatMap((kind) => {
    const why = objects[kind];
    if (typeof why !== 'string' || why === 'unserved') return [];
    return [
      {
        kind: 'NotRead',
        message: `${kind} objects could not be read, so it is unknown ${DOCTOR_KINDS[kind]}: ${why}`,
      },
    ];
  });
}

function ofFabric(fabrics: DoctorObjects['Fabric']): readonly DoctorFinding[] {
  if (typeof fabrics === 'string') return [];
  const fabric = fabrics.find(({ metadata }) => metadata.name === FABRIC_NAME);
  if (fabric === undefined) {
    const message = `Fabric ${FABRIC_NAME} does not exist. The operator creates it when it leads: check that its pods run and read their log.`;
    return [{ kind: 'OperatorAbsent', message }];
  }
  const { problems } = fabric.status ?? {};
  return (Array.isArray(problems) ? problems : []).flatMap((problem: { readonly message?: unknown } | null) =>
    typeof problem?.message === 'string' ? [{ kind: 'FabricProblem', message: `Fabric: ${problem.message}` }] : [],
  );
}

/** Classes that unfinished jobs name, and those that have a class for pods already. */
function ofClasses(jobs: readonly ReadObject[], objects: DoctorObjects['PriorityClass']): readonly DoctorFinding[] {
  if (typeof objects === 'string') return [];
  const classes = objects.map(priorityClassFacts);
  const users = Map.groupBy(
    jobs.filter((job) => !hasEnded(job)).flatMap((job) => nameOfClass(job.spec) ?? []),
    (name) => name,
  );
  const paired = classes.filter(({ name }) => classes.some((other) => other.name === podClassName(name)));
  const names = [...new Set([...users.keys(), ...paired.map(({ name }) => name)])].toSorted();
  return names.flatMap((name): readonly DoctorFinding[] => {
    if (isSystemPriorityClass(name)) return [];
    const named = formatCount(users.get(name)?.length ?? 0, 'unfinished job');
    const found = classes.find((one) => one.name === name);
    if (found === undefined) {
      const message = `PriorityClass ${name} does not exist, and ${named} ${named.startsWith('1 ') ? 'names' : 'name'} it. New jobs with it wait with reason PriorityClassMissing. Create it, or list it in scheduling.priorityClasses of the chart.`;
      return [{ kind: 'ClassMissing', message }];
    }
    if (podClassOf({ className: name, value: found.value }, classes) !== undefined) return [];
    const pods = podClassName(name);
    const wrong = classes.find((one) => one.name === pods);
    const why = wrong === undefined ? 'does not exist' : describeWrong(wrong, found);
    const message = `PriorityClass ${pods} ${why}, so pods of jobs with class ${name} carry no class of their priority. Create it with value ${found.value} and preemptionPolicy Never, or list ${name} in scheduling.priorityClasses of the chart.`;
    return [{ kind: 'PodClassMissing', message }];
  });
}

function describeWrong({ value, neverPreempts }: PriorityClassFacts, { value: wanted }: PriorityClassFacts): string {
  if (value !== wanted) return `has value ${value} instead of ${wanted}`;
  return neverPreempts ? 'cannot be used' : 'preempts other pods';
}

const POLICY = 'coxswain-priority-classes';

function ofPolicy({
  ValidatingAdmissionPolicy: policies,
  ValidatingAdmissionPolicyBinding: bindings,
}: DoctorObjects): readonly DoctorFinding[] {
  if (typeof policies === 'string' || typeof bindings === 'string') return [];
  const isThere = policies.some(({ metadata }) => metadata.name === POLICY);
  const isBound = bindings.some(({ spec }) => spec?.['policyName'] === POLICY);
  if (isThere && isBound) return [];
  const what = isThere
    ? `No binding puts ValidatingAdmissionPolicy ${POLICY} in force`
    : `ValidatingAdmissionPolicy ${POLICY} does not exist`;
  const message = `${what}, so every user of kubectl who may create TrainingJobs may name any PriorityClass. Enable the admission policies of the chart.`;
  return [{ kind: 'PolicyMissing', message }];
}

/** Quotas of namespaces in which jobs are. */
function ofQuotas(jobs: readonly ReadObject[], quotas: readonly ReadObject[]): readonly DoctorFinding[] {
  const waiting = Map.groupBy(jobs.filter(isWaiting), ({ metadata }) => metadata.namespace ?? '');
  const namespaces = new Set(jobs.map(({ metadata }) => metadata.namespace ?? ''));
  return quotas.flatMap((quota): readonly DoctorFinding[] => {
    const { name, namespace = '' } = quota.metadata;
    const gpus = gpusOfQuota(quota as QuotaObject);
    if (!namespaces.has(namespace) || gpus === undefined) return [];
    const what = `ResourceQuota ${name} of namespace ${namespace}`;
    if (gpus.isScoped) {
      const message = `${what} has scopes, so it is not read before a job is placed. If it is full, the pods of a gang are refused one by one, and the job waits with reason PodsRefused. Use a quota without scopes for GPUs.`;
      return [{ kind: 'QuotaNotRead', message }];
    }
    const { limit, used } = gpus;
    const tooLarge = (waiting.get(namespace) ?? []).filter((job) => (gpusOf(job) ?? 0) > limit);
    const below =
      used > limit
        ? [
            `${what} allows ${formatCount(limit, 'GPU')}, and pods hold ${used}. They continue; no job of the namespace starts before fewer than ${limit} are held.`,
          ]
        : [];
    const never = tooLarge.map(
      (job) =>
        `${what} allows ${formatCount(limit, 'GPU')}; job ${job.metadata.name} asks for ${gpusOf(job) ?? 0} and can never start there. Raise the quota, or ask for fewer GPUs.`,
    );
    return [...below, ...never.slice(0, MOST_JOBS)].map((message) => ({ kind: 'QuotaTooSmall', message }));
  });
}

/** Jobs that are named for each quota. */
const MOST_JOBS = 5;

function gpusOf({ spec, status }: ReadObject): number | undefined {
  const { gpus } = (status?.['plan'] ?? {}) as { readonly gpus?: unknown };
  const wanted = gpus ?? spec?.['gpus'];
  return typeof wanted === 'number' ? wanted : undefined;
}

function nameOfClass(spec: ReadObject['spec']): string | undefined {
  const name = spec?.['priorityClassName'];
  return typeof name === 'string' ? name : undefined;
}

function hasEnded({ status }: ReadObject): boolean {
  return (FINAL_JOB_STATES as ReadonlySet<unknown>).has(status?.['state']);
}

function isWaiting({ status }: ReadObject): boolean {
  return ['Queued', 'Restarting', undefined].includes(status?.['state'] as string | undefined);
}
