/** Which ResourceQuota of a namespace does not let all pods of a job exist at once? Pure. */
import { GPU_RESOURCE } from '@coxswain/api-types';

/** What is read of a ResourceQuota. */
export interface QuotaObject {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly hard?: Quantities; readonly scopes?: readonly string[]; readonly scopeSelector?: unknown };
  readonly status?: { readonly used?: Quantities };
}

type Quantities = Readonly<Record<string, string>>;

/** What all pods of a job ask for together. */
export interface PodDemand {
  readonly gpus: number;
  readonly pods: number;
}

/** A quota that refuses some pod of the job. */
export interface QuotaObstacle {
  readonly counts: keyof PodDemand;
  readonly needed: number;
  /** Whether the quota is too small even if the namespace is empty. */
  readonly isForEver: boolean;
  /** In the words of the API server, so that the job and its check are explained by the same rule. */
  readonly message: string;
}

const GPU_QUOTA = `requests.${GPU_RESOURCE}`;

/** Quotas count only whole numbers of these. */
const COUNTED: readonly (readonly [resource: string, counts: keyof PodDemand])[] = [
  [GPU_QUOTA, 'gpus'],
  ['pods', 'pods'],
  ['count/pods', 'pods'],
];

/** Quotas with scopes are left out: whether they count a pod depends on the pod template. */
export function quotaObstacles(quotas: readonly QuotaObject[], demand: PodDemand): readonly QuotaObstacle[] {
  return quotas.filter(isOfEveryPod).flatMap((quota) =>
    COUNTED.flatMap(([resource, counts]) => {
      const limit = wholeNumber(quota.spec?.hard?.[resource]);
      const used = wholeNumber(quota.status?.used?.[resource]) ?? 0;
      const needed = demand[counts];
      if (limit === undefined || used + needed <= limit) return [];
      const message = `exceeded quota: ${quota.metadata.name}, requested: ${resource}=${needed}, used: ${resource}=${used}, limited: ${resource}=${limit}`;
      return [{ counts, needed, isForEver: needed > limit, message }];
    }),
  );
}

/** The obstacle in a sentence, for a job that waits and for the check of one. */
export function quotaSentence({ message }: Pick<QuotaObstacle, 'message'>): string {
  return `The pods of the job together need more than a quota allows: ${message}.`;
}

/** GPUs that a quota allows and that pods use of it; undefined: it does not count GPUs. `isScoped`: it counts some pods only. */
export function gpusOfQuota(
  quota: QuotaObject,
): { readonly limit: number; readonly used: number; readonly isScoped: boolean } | undefined {
  const { spec, status } = quota;
  const limit = wholeNumber(spec?.hard?.[GPU_QUOTA]);
  if (limit === undefined) return undefined;
  return { limit, used: wholeNumber(status?.used?.[GPU_QUOTA]) ?? 0, isScoped: !isOfEveryPod(quota) };
}

function isOfEveryPod({ spec }: QuotaObject): boolean {
  return (spec?.scopes ?? []).length === 0 && spec?.scopeSelector === undefined;
}

function wholeNumber(quantity: string | undefined): number | undefined {
  return quantity !== undefined && /^\d+$/.test(quantity) ? Number(quantity) : undefined;
}
