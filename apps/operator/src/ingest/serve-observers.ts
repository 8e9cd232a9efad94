/** HTTP routes for observers of other controllers' pods, and for the API that reads what they show. */
import type { IncomingMessage } from 'node:http';
import { MAX_REPORT_BYTES, OBSERVE_TOKEN_AUDIENCE, type ObservedJob, ObserverReport } from '@coxswain/api-types';
import { parseForeignJson } from '@coxswain/safe-text';
import type { Authenticator } from './authenticator.ts';
import type { ObservedJobs } from './observed-jobs.ts';
import { type Denial, isAdmitted, type ReaderAccess, type ReaderCall, refuse } from './reader-access.ts';
import type { ReportPorts } from './session-ports.ts';

/** Observers hasten to one report a second. */
const LEAST_BETWEEN_MS = 250;
/** Of an answer with all jobs. */
const MOST_CHARACTERS = 6_291_456;
/** A token is checked once for each connection, and again after this time. */
const TRUSTED_MS = 600_000;

/** What receives reports. */
export interface ObserverAccess {
  readonly authenticator: Authenticator;
  readonly leadership: ReportPorts['leadership'];
  readonly jobs: Pick<ObservedJobs, 'receive'>;
  readonly monotonicMs: () => number;
  /** A pod is unknown: it may be new. */
  readonly onUnknown: () => void;
}

/** Who may read, and what. */
export interface ObservedJobsAccess extends ReaderAccess {
  readonly jobs: Pick<ObservedJobs, 'list'>;
}

interface Trusted {
  readonly token: string;
  readonly podUid: string;
  readonly untilMs: number;
  lastMs: number;
}

/** Receives reports. One of it serves all connections. */
export class ObserverEndpoint {
  readonly #access: ObserverAccess;
  readonly #trusted = new WeakMap<object, Trusted>();

  constructor(access: ObserverAccess) {
    this.#access = access;
  }

  async serve(call: ReaderCall): Promise<void> {
    const { response, request } = call;
    const trusted = await this.#identify(call);
    if ('status' in trusted) return refuse(response, trusted);
    call.onIdentified();
    const denied = this.#mayReportNow(trusted);
    if (denied !== undefined) return refuse(response, denied);
    const report = await reportIn(request);
    if (report === undefined) return refuse(response, MALFORMED);
    const reply = this.#access.jobs.receive(trusted.podUid, report);
    if (reply === undefined) {
      this.#access.onUnknown();
      return refuse(response, UNKNOWN_POD);
    }
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify(reply));
  }

  async #identify({ request: { socket }, token }: ReaderCall): Promise<Trusted | Denial> {
    const { authenticator, monotonicMs } = this.#access;
    if (token === undefined) return { status: 401, title: 'present a service account token as bearer' };
    const known = this.#trusted.get(socket);
    if (known?.token === token && known.untilMs > monotonicMs()) return known;
    const answer = await authenticator.authenticate(token, [OBSERVE_TOKEN_AUDIENCE]);
    if (answer.kind === 'unavailable') return { status: 503, title: 'the token cannot be checked at the moment' };
    const podUid = answer.kind === 'refused' ? undefined : answer.identity.pod?.uid;
    if (podUid === undefined)
      return { status: 401, title: `the token is not one of a pod for ${OBSERVE_TOKEN_AUDIENCE}` };
    const trusted = { token, podUid, untilMs: monotonicMs() + TRUSTED_MS, lastMs: Number.NEGATIVE_INFINITY };
    this.#trusted.set(socket, trusted);
    return trusted;
  }

  #mayReportNow(trusted: Trusted): Denial | undefined {
    const leadership = this.#access.leadership();
    if (!leadership.leading) {
      const { leaderUrl } = leadership;
      return { status: 503, title: 'another replica leads', ...(leaderUrl === undefined ? {} : { leaderUrl }) };
    }
    const nowMs = this.#access.monotonicMs();
    if (nowMs - trusted.lastMs < LEAST_BETWEEN_MS) return { status: 429, title: 'report once a second at most' };
    trusted.lastMs = nowMs;
    return undefined;
  }
}

const MALFORMED: Denial = {
  status: 400,
  title: `the body must be a report of an observer, of at most ${MAX_REPORT_BYTES} bytes`,
};
const UNKNOWN_POD: Denial = {
  status: 503,
  title: 'the operator does not know this pod yet, or a later attempt of its job has begun',
};

/** Responds with ObservedJobs. */
export async function serveObservedJobs(access: ObservedJobsAccess, call: ReaderCall): Promise<void> {
  if (!(await isAdmitted(access, call))) return;
  const jobs: string[] = [];
  let characters = 0;
  let leftOut = 0;
  for (const job of access.jobs.list()) {
    const text = JSON.stringify(job satisfies ObservedJob);
    characters += text.length;
    if (characters > MOST_CHARACTERS) leftOut += 1;
    else jobs.push(text);
  }
  call.response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  call.response.end(`{"jobs":[${jobs.join(',')}],"leftOut":${leftOut}}`);
}

async function reportIn(request: IncomingMessage): Promise<ObserverReport | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_REPORT_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return ObserverReport.safeParse(parseForeignJson(Buffer.concat(chunks).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
