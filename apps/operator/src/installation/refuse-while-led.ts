import { isNotFound, resourcePath, sleep, type Clock, type KubeClient, type KubeObject } from '@coxswain/kube';

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

/** Longer than the Lease of the chart lasts (8 s). One that was set to last longer is watched as long as it lasts, but the Job has 240 s in all. */
const SHORTEST_WATCH_MS = 10_000;
const LONGEST_WATCH_MS = 60_000;
/** An operator that is losing its rights at this moment may have renewed it a last time. */
const WATCHES = 2;

/** Rejects while an operator leads: it would add finalizers again, and its gangs would lose the record of their ends. Independent of wall clocks. */
export async function refuseWhileLed(parts: {
  readonly client: Pick<KubeClient, 'get'>;
  readonly clock: Clock;
  readonly lease: { readonly namespace: string; readonly name: string };
}): Promise<void> {
  const { clock, lease } = parts;
  for (let watch = 1; ; watch += 1) {
    const before = await holderOf(parts);
    if (before === undefined) return;
    const watchMs = Math.min(LONGEST_WATCH_MS, Math.max(SHORTEST_WATCH_MS, before.lastsMs));
    await sleep(clock, watchMs);
    const after = await holderOf(parts);
    if (after === undefined || (after.identity === before.identity && after.renewed === before.renewed)) return;
    if (watch === WATCHES) {
      throw new Error(
        `${after.identity} still leads: it renewed the Lease ${lease.namespace}/${lease.name} within the last ${watchMs / 1000} s. ` +
          'No finalizers were removed. Uninstall the release, or scale its operator to 0, and retry.',
      );
    }
  }
}

async function holderOf({
  client,
  lease,
}: Omit<Parameters<typeof refuseWhileLed>[0], 'clock'>): Promise<
  { readonly identity: string; readonly renewed: string; readonly lastsMs: number } | undefined
> {
  try {
    const path = resourcePath({ group: 'coordination.k8s.io', version: 'v1', plural: 'leases', ...lease });
    const { spec } = await client.get<Lease>(path);
    const identity = spec?.holderIdentity ?? '';
    if (identity === '') return undefined;
    return { identity, renewed: spec?.renewTime ?? '', lastsMs: 1000 * (spec?.leaseDurationSeconds ?? 0) };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
