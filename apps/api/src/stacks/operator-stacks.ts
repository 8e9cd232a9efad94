/** What does the leading operator answer to who asks for the stacks of a job? */
import type { IncomingMessage } from 'node:http';
import { JobStacks, STACKS_PATH } from '@coxswain/api-types';
import { parseForeignJson } from '@coxswain/safe-text';
import { askOperator, bytesOf, type OperatorAnswer } from '../cluster/operator-endpoint.ts';
import type { Config } from '../config/config.ts';
import { partsAfterWaiting } from '../limits/request-cpu.ts';

/** An operator sends at most a million characters; each may take several bytes. */
const MAX_ANSWER_BYTES = 8_388_608;

/** The job, and the one rank to ask; all ranks if absent. */
export interface StacksOf {
  readonly jobUid: string;
  readonly rank?: number | undefined;
}

/** Stack traces of a job, or why the operator did not return them. */
export type OperatorStacks =
  { readonly kind: 'taken'; readonly stacks: JobStacks } | Exclude<OperatorAnswer<JobStacks>, { kind: 'answered' }>;

/** Asks one replica after the other, and the leader as soon as one names it. */
export async function operatorStacks(
  operator: Config['operator'],
  { jobUid, rank }: StacksOf,
  signal: AbortSignal,
): Promise<OperatorStacks> {
  const query = { jobUid, ...(rank === undefined ? {} : { rank: String(rank) }) };
  const answer = await askOperator(operator, { path: STACKS_PATH, query }, signal, stacksIn);
  return answer.kind === 'answered' ? { kind: 'taken', stacks: answer.value } : answer;
}

/** Throws where it is too long, or something else. */
async function stacksIn(response: IncomingMessage): Promise<JobStacks> {
  const parts = partsAfterWaiting(response as AsyncIterable<Buffer>);
  return JobStacks.parse(parseForeignJson((await bytesOf(parts, MAX_ANSWER_BYTES)).toString('utf8')));
}
