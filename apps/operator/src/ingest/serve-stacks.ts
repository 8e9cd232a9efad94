import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { type Denial, isAdmitted, type ReaderAccess, type ReaderCall, refuse } from './reader-access.ts';
import type { StackAnswer, StackQuestion, StackRequests } from './stack-requests.ts';

/** Who may ask for stacks, and of whom. */
export interface StacksAccess extends ReaderAccess {
  readonly requests: Pick<StackRequests, 'take'>;
}

/** `?jobUid=…&rank=N` answers {@link JobStacks} within some seconds, or a problem; a follower answers 503 with `leaderUrl`. */
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
  title: `ask with jobUid, a UID, and at most with rank, a whole number below ${MAX_WORLD_SIZE}`,
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
      return { status: 404, title: 'no gang of the job is seen' };
    case 'noSuchRank':
      return { status: 404, title: `there is no such rank; the gang has ranks 0 to ${answer.rankCount - 1}` };
    case 'later':
      return { status: 429, title: LATER[answer.why], againInMs: Math.ceil(answer.againInMs) };
  }
}

const LATER = {
  asked: 'the stacks of this job were taken a moment ago',
  busy: 'stacks are being taken, of this job or of too many others',
} as const;
