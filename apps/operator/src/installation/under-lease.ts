import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { LeaderLease, type Clock, type KubeClient } from '@coxswain/kube';

/** Inputs of {@link underLease}. */
export interface UnderLeaseParts {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'patch'>;
  readonly clock: Clock;
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly onError?: (error: unknown) => void;
}

/** Runs `work` once while holding a Lease; waits until it is free. Rejects with the error of `work`, or if the Lease was lost. */
export async function underLease<T>(parts: UnderLeaseParts, work: (guard: () => void) => Promise<T>): Promise<T> {
  const { lease: place, ...others } = parts;
  const lease = new LeaderLease({
    ...others,
    ...place,
    identity: `${hostname()}-${randomBytes(4).toString('hex')}`,
    random: Math.random,
  });
  const done = new AbortController();
  const result: { value?: T } = {};
  await lease.run({
    signal: done.signal,
    onStartedLeading: async () => {
      result.value = await work(() => void lease.assertLeading());
      done.abort();
    },
  });
  if ('value' in result) return result.value as T;
  throw new Error(`the Lease ${place.namespace}/${place.name} was taken by another process; retry`);
}
