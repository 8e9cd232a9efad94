/** A tenant that changes labels of its jobs over four connections and obeys no limit: it asks again at once when it is refused. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Tenant } from './world.ts';

const CONNECTIONS = 4;
const AFTER_REFUSAL_MS = 50;

/** What it was answered, by status. */
export type Answers = Map<number, number>;

/** Goes on until the signal says so. */
export async function changeLabels(
  url: string,
  tenant: Tenant,
  {
    jobIds,
    answers,
    signal,
  }: { readonly jobIds: readonly string[]; readonly answers: Answers; readonly signal: AbortSignal },
): Promise<void> {
  const change = async (connection: number): Promise<void> => {
    for (let time = 0; !signal.aborted; time++) {
      const jobId = jobIds[(time * CONNECTIONS + connection) % jobIds.length] ?? '';
      const { status } = await fetch(`${url}/v1/projects/${tenant.project}/jobs/${jobId}`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ labels: { time: `${connection}-${time}` } }),
      });
      answers.set(status, (answers.get(status) ?? 0) + 1);
      if (status === 429) await delay(AFTER_REFUSAL_MS);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => change(connection)));
}
