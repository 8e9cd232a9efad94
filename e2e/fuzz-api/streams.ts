/** What comes out of answers that go on? Streams of events and followed logs, of one’s own jobs and of others’, left at any moment. */
import type { Dice } from '../support/random.ts';
import type { Findings } from './findings.ts';
import type { Tenants } from './tenants.ts';

const AT_ONCE = 20;
const LONGEST_MS = 1_500;
const JOBS = '/v1/projects/{project}/jobs';

/** Opens so many, some at a time, and looks at each byte of them. */
export async function readStreams(
  world: { readonly url: string; readonly tenants: Tenants; readonly canary: string },
  { findings, dice, count }: { readonly findings: Findings; readonly dice: Dice; readonly count: number },
): Promise<void> {
  let left = count;
  const reader = async (): Promise<void> => {
    while (left-- > 0) await readOne(world, { findings, dice });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
}

async function readOne(
  { url, tenants }: { readonly url: string; readonly tenants: Tenants },
  { findings, dice }: { readonly findings: Findings; readonly dice: Dice },
): Promise<void> {
  const isForeign = dice.chance(0.3);
  const ids = isForeign ? tenants.foreign : tenants.own;
  const project = isForeign && dice.chance(0.5) ? tenants.own.project : ids.project;
  const id = ids.pick(`${JOBS}/{jobId}`, 'jobId', dice) ?? 'none';
  const [kind, path] = dice.pick([
    ['events/stream', `events/stream${dice.pick(['', '?after=3', '?after=x'])}`],
    ['logs', `logs${dice.pick(['', '?follow=true', '?rank=3&tailLines=5', '?rank=99999', '?follow=maybe'])}`],
  ] as const);
  const asked = `GET /v1/projects/${project}/jobs/${id}/${path}`;
  const operation = `GET ${JOBS}/{jobId}/${kind}`;
  const who = dice.pick([...tenants.members, tenants.nobody]);
  const leave = AbortSignal.timeout(50 + dice.below(LONGEST_MS));
  const headers = {
    ...(who.token === undefined ? {} : { authorization: `Bearer ${who.token}` }),
    ...(kind === 'logs' || dice.chance(0.7) ? {} : { 'last-event-id': dice.pick(['3', '-1', 'x', '9'.repeat(15)]) }),
  };
  let status = 0;
  let text = '';
  try {
    const answer = await fetch(`${url}${asked.slice(4)}`, { headers, signal: leave });
    status = answer.status;
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) text += decoder.decode(chunk, { stream: true });
  } catch (error) {
    // Left, as was meant; or cut off before it was answered.
    if (status === 0 && !leave.aborted) findings.violate(`no answer to ${asked}: ${(error as Error).message}`);
  }
  if (status === 0) return;
  const answered = { operation, status, text, asked: `${asked} as ${who.role}` };
  findings.see({ ...answered, asker: 'streams', maySeeCanary: false });
}
