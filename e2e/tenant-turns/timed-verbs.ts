/** How long each verb of a tenant takes from the request until the cluster has it. */
import { setTimeout as delay } from 'node:timers/promises';
import { aJobSpec } from '@coxswain/api-types/testing';
import type { ControlPlane } from '@coxswain/local-cluster';
import type { Tenant } from './world.ts';

const POLL_MS = 5;
const DEADLINE_MS = 60_000;

export const VERBS = ['submit', 'suspend', 'resume', 'label', 'cancel', 'delete'] as const;
export type Verb = (typeof VERBS)[number];

interface Resource {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly suspend: boolean; readonly cancel: boolean };
}

/** Leads one job through its life. Gives the milliseconds of each verb. */
export async function timeVerbs(
  plane: ControlPlane,
  tenant: Tenant,
  name: string,
): Promise<Readonly<Record<Verb, number>>> {
  const { project, api } = tenant;
  const path = `/apis/training.coxswain.dev/v1alpha1/namespaces/${project}/trainingjobs/${name}`;
  const timed = async (
    act: () => Promise<unknown>,
    isDone: (job: Resource | undefined) => boolean,
  ): Promise<number> => {
    const begunMs = performance.now();
    await act();
    for (;;) {
      const { status, body } = await plane.admin.send({ method: 'GET', path });
      const passedMs = performance.now() - begunMs;
      if (isDone(status === 200 ? (JSON.parse(body) as Resource) : undefined)) return passedMs;
      if (passedMs > DEADLINE_MS)
        throw new Error(`a change of ${name} was not in the cluster after ${DEADLINE_MS / 1_000} s`);
      await delay(POLL_MS);
    }
  };
  let id = '';
  const submit = await timed(
    async () => ({ id } = await api.createJob(project, { name, spec: aJobSpec() })),
    (job) => job !== undefined,
  );
  const job = { project, id };
  return {
    submit,
    suspend: await timed(
      () => api.suspend(job),
      (found) => found?.spec.suspend === true,
    ),
    resume: await timed(
      () => api.resume(job),
      (found) => found?.spec.suspend === false,
    ),
    label: await timed(
      () => api.labelJob(job, { turn: 'b' }),
      (found) => found?.metadata.labels?.['turn'] === 'b',
    ),
    cancel: await timed(
      () => api.cancel(job),
      (found) => found?.spec.cancel === true,
    ),
    delete: await timed(
      () => api.deleteJob(job),
      (found) => found === undefined,
    ),
  };
}
