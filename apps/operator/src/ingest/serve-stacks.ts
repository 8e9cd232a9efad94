import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { type Denial, isAdmitted, type ReaderAccess, type ReaderCall, refuse } from './reader-access.ts';
import type { StackAnswer, StackQuestion, StackRequests } from './stack-requests.ts';

/** Readers and source of stack traces. */
export interface StacksAccess extends ReaderAccess {
  readonly requests: Pick<StackRequests, 'take'>;
}

/** Responds to `?jobUid=…&rank=N` with {@link JobStacks} within a few seconds, or with a problem; a follower responds 503 with `leaderUrl`. */
export async function serveStacks(access: StacksAccess, call: ReaderCall): Promise<void> {
  if (!(await isAdmitted(access, call))) return;
  const { request, response } = call;
  const question = questionOf(request.url ?? '/');
  if (question === undefined) return refuse(response, MALFORMED);
  const answer = await access.requests.take(question);
  if (answer.kind !== 'taken') return refuse(response, denialIn(answer));
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(answer.stacks));
}

const MALFORMED: Denial = {
  status: 400,
  title: `the query must have jobUid, a UID, and may have rank, a whole number below ${MAX_WORLD_SIZE}`,
};

function questionOf(url: string): StackQuestion | undefined {
  const query = new URL(url, 'https://operator').searchParams;
  const jobUid = query.get('jobUid') ?? '';
  const rank = query.get('rank') ?? undefined;
  if (!/^[A-Za-z0-9-]{1,64}$/.test(jobUid)) return undefined;
  if (rank === undefined) return { jobUid };
  return /^\d{1,9}$/.test(rank) && Number(rank) < MAX_WORLD_SIZE ? { jobUid, rank: Number(rank) } : undefined;
}

function denialIn(answer: Exclude<StackAnswer, { kind: 'taken' }>): Denial {
  switch (answer.kind) {
    case 'noGang':
      return { status: 404, title: 'the job has no running gang' };
    case 'noSuchRank':
      return { status: 404, title: `the gang has no such rank; its ranks are 0 to ${answer.rankCount - 1}` };
    case 'later':
      return { status: 429, title: LATER[answer.why], againInMs: Math.ceil(answer.againInMs) };
  }
}

const LATER = {
  asked: 'stack traces of this job were collected a moment ago; retry later',
  busy: 'stack traces are being collected from this job or from too many others; retry later',
} as const;
