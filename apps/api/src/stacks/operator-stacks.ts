/** What does the leading operator answer to who asks for the stacks of a job? */
import type { IncomingMessage } from 'node:http';
import { JobStacks, STACKS_PATH } from '@coxswain/api-types';
import { parseForeignJson } from '@coxswain/safe-text';
import { type OperatorRefusal, refusalOf, requestOperator } from '../cluster/operator-endpoint.ts';
import type { Config } from '../config/config.ts';
import { partsAfterWaiting } from '../limits/request-cpu.ts';

/** An operator waits 8 s for its launchers. */
const WITHIN_MS = 15_000;
/** An operator sends at most a million characters; each may take several bytes. */
const MAX_ANSWER_BYTES = 8_388_608;

/** The job, and the one rank to ask; all ranks if absent. */
export interface StacksOf {
  readonly jobUid: string;
  readonly rank?: number | undefined;
}

/** Stack traces of a job, or why the operator did not return them. */
export type OperatorStacks =
  | { readonly kind: 'taken'; readonly stacks: JobStacks }
  | (Pick<OperatorRefusal, 'title' | 'againInMs'> & { readonly kind: 'refused'; readonly status: number })
  /** None of the operator's replicas answers, or none leads. */
  | { readonly kind: 'unreachable'; readonly why: string };

/** Asks one replica after the other, and the leader as soon as one names it. */
export async function operatorStacks(
  operator: Config['operator'],
  of: StacksOf,
  signal: AbortSignal,
): Promise<OperatorStacks> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]);
  const urls = [...operator.seriesUrls];
  const asked = new Set<string>();
  let why = 'no address of it is configured (COXSWAIN_OPERATOR_SERIES_URLS)';
  for (let url = urls.shift(); url !== undefined && !until.aborted; url = urls.shift()) {
    if (asked.has(url)) continue;
    asked.add(url);
    try {
      const target = targetOf(url, of);
      const accept = 'application/json';
      const response = await requestOperator(operator, { method: 'POST', target, accept, signal: until });
      if (response.statusCode === 200) return { kind: 'taken', stacks: await stacksIn(response) };
      const { title, againInMs, leaderUrl } = await refusalOf(response);
      const status = response.statusCode ?? 0;
      if (status !== 503) return { kind: 'refused', status, title, againInMs };
      if (leaderUrl !== undefined) urls.unshift(leaderUrl);
      why = title ?? 'it is not ready';
    } catch (error) {
      why = (error as Error).message;
    }
  }
  return { kind: 'unreachable', why };
}

function targetOf(base: string, { jobUid, rank }: StacksOf): URL {
  const target = new URL(STACKS_PATH, base);
  target.searchParams.set('jobUid', jobUid);
  if (rank !== undefined) target.searchParams.set('rank', String(rank));
  return target;
}

/** Throws where it is too long, or something else. */
async function stacksIn(response: IncomingMessage): Promise<JobStacks> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of partsAfterWaiting(response as AsyncIterable<Buffer>)) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JobStacks.parse(parseForeignJson(Buffer.concat(chunks).toString('utf8')));
}
