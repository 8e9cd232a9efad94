import { KeptLogsQuestion } from '@coxswain/api-types';
import { z } from 'zod';
import type { KeptLogsReply, KeptLogsRequest } from '../kept-logs/kept-logs-readers.ts';
import { type Denial, isAdmitted, type ReaderAccess, type ReaderCall, refuse } from './reader-access.ts';

/** Readers and source of kept logs. */
export interface KeptLogsAccess extends ReaderAccess {
  /** Starts the pod that reads them; undefined: it is not known whether it started. */
  readonly open: (request: KeptLogsRequest) => Promise<KeptLogsReply | undefined>;
}

const Query = KeptLogsQuestion.omit({ folder: true }).extend({ jobUid: z.string().regex(/^[A-Za-z0-9-]{1,64}$/) });

/** Responds to `?question=…`, a {@link KeptLogsRequest} as JSON, with a `KeptLogsPod`, or with a problem; a follower responds 503 with `leaderUrl`. */
export async function serveKeptLogs(access: KeptLogsAccess, call: ReaderCall): Promise<void> {
  if (!(await isAdmitted(access, call))) return;
  const { request, response } = call;
  const question = questionOf(request.url ?? '/');
  if (question === undefined) return refuse(response, MALFORMED);
  const reply = (await access.open(question)) ?? UNKNOWN;
  if (reply.kind !== 'pod') return refuse(response, denialOf(reply));
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(reply.pod));
}

const MALFORMED: Denial = { status: 400, title: 'the query must have question, as JSON' };
const UNKNOWN = { kind: 'waits', why: 'the operator could not start the pod that reads it' } as const;

function questionOf(url: string): KeptLogsRequest | undefined {
  try {
    return Query.parse(JSON.parse(new URL(url, 'https://operator').searchParams.get('question') ?? ''));
  } catch {
    return undefined;
  }
}

function denialOf(reply: Exclude<KeptLogsReply, { kind: 'pod' }>): Denial {
  switch (reply.kind) {
    case 'noJob':
      return { status: 404, title: 'the job is not in the cluster any more' };
    case 'notKept':
      return { status: 404, title: 'the job has no claim or bucket for checkpoints, so nothing is kept of its logs' };
    case 'busy':
      return { status: 429, title: 'too many kept logs are being read; ask again in a moment', againInMs: 5_000 };
    case 'waits':
    case 'rejected':
      return { status: 409, title: reply.why };
  }
}
