/** HTTP routes for observers of other controllers' pods, and for the API that reads what they show. */
import type { IncomingMessage } from 'node:http';
import { MAX_REPORT_BYTES, OBSERVE_TOKEN_AUDIENCE, type ObservedJob, ObserverReport } from '@coxswain/api-types';
import { parseForeignJson } from '@coxswain/safe-text';
import type { Authenticator } from './authenticator.ts';
import type { ObservedJobs, ObserverRefusal } from './observed-jobs.ts';
import { ObserverPlaces } from './observer-places.ts';
import { type Denial, isAdmitted, type ReaderAccess, type ReaderCall, refuse } from './reader-access.ts';
import type { ReportPorts } from './session-ports.ts';

/** Of an answer with all jobs. The API takes 8 MiB. */
const MOST_BYTES = 6_291_456;
/** A token is checked once for each connection, and again after this time. */
const TRUSTED_MS = 600_000;

/** What receives reports. */
export interface ObserverAccess {
  readonly authenticator: Authenticator;
  readonly leadership: ReportPorts['leadership'];
  readonly jobs: Pick<ObservedJobs, 'receive' | 'refusalOf'>;
  /** Namespaces whose pods may report. */
  readonly namespaces: readonly string[];
  readonly monotonicMs: () => number;
  /** A pod is unknown: it may be new. */
  readonly onUnknown: (podUid: string) => void;
}

/** Who may read, and what. */
export interface ObservedJobsAccess extends ReaderAccess {
  readonly jobs: Pick<ObservedJobs, 'list' | 'refused'>;
}

interface Trusted {
  readonly token: string;
  readonly podUid: string;
  readonly namespace: string;
  readonly untilMs: number;
}

/** Receives reports. One of it serves all connections. */
export class ObserverEndpoint {
  readonly #access: ObserverAccess;
  readonly #namespaces: ReadonlySet<string>;
  readonly #trusted = new WeakMap<object, Trusted>();
  readonly #places = new ObserverPlaces();

  constructor(access: ObserverAccess) {
    this.#access = access;
    this.#namespaces = new Set(access.namespaces);
  }

  /** Connections of known pods now. */
  get connections(): number {
    return this.#places.connections;
  }

  async serve(call: ReaderCall): Promise<void> {
    const { response, request } = call;
    const trusted = await this.#identify(call);
    if ('status' in trusted) return refuse(response, trusted);
    const leadership = this.#access.leadership();
    if (!leadership.leading) {
      const { leaderUrl } = leadership;
      return refuse(response, {
        status: 503,
        title: 'another replica leads',
        ...(leaderUrl === undefined ? {} : { leaderUrl }),
      });
    }
    // Until here the connection has one of the few places of the unidentified. Nothing of the body has been read.
    const denied = this.#denialOf(trusted, request);
    if (denied !== undefined) return refuse(response, denied, { connection: 'close' });
    call.onIdentified();
    const arriving = this.#places.begin(trusted.podUid, request.socket, this.#access.monotonicMs());
    if (arriving === undefined) return refuse(response, TOO_SOON);
    let report: ObserverReport | undefined;
    try {
      report = await reportIn(request, (bytes) => arriving.receive(bytes));
    } finally {
      arriving.end();
    }
    if (report === undefined) return refuse(response, MALFORMED, { connection: 'close' });
    const reply = this.#access.jobs.receive(trusted.podUid, report);
    if (reply === undefined) return refuse(response, REFUSALS.unknown);
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
    if (answer.kind === 'refused' || podUid === undefined)
      return { status: 401, title: `the token is not one of a pod for ${OBSERVE_TOKEN_AUDIENCE}` };
    const trusted = { token, podUid, namespace: answer.identity.namespace, untilMs: monotonicMs() + TRUSTED_MS };
    this.#trusted.set(socket, trusted);
    return trusted;
  }

  #denialOf({ podUid, namespace }: Trusted, { socket }: IncomingMessage): Denial | undefined {
    if (!this.#namespaces.has(namespace))
      return { status: 403, title: `pods of namespace ${namespace} are not observed: observe.namespaces lists others` };
    const refusal = this.#access.jobs.refusalOf(podUid);
    if (refusal === 'unknown') this.#access.onUnknown(podUid);
    if (refusal !== undefined) return REFUSALS[refusal];
    return this.#places.enter({ podUid, namespace }, socket) ? undefined : NO_PLACE;
  }
}

const MALFORMED: Denial = {
  status: 400,
  title: `the body must be a report of an observer, of at most ${MAX_REPORT_BYTES} bytes`,
};
const TOO_SOON: Denial = { status: 429, title: 'a pod sends one report at a time, and one a second at most' };
const NO_PLACE: Denial = { status: 503, title: 'too many observers are connected' };
/** By why the report of a pod is not read. */
const REFUSALS: Readonly<Record<ObserverRefusal, Denial>> = {
  unknown: { status: 503, title: 'the operator does not know this pod: it is new, or has no label for observation' },
  full: { status: 503, title: 'the operator follows as many jobs of this namespace as it can' },
  earlierAttempt: { status: 503, title: 'a later attempt of the job has begun' },
};

/** Responds with ObservedJobs. */
export async function serveObservedJobs(access: ObservedJobsAccess, call: ReaderCall): Promise<void> {
  if (!(await isAdmitted(access, call))) return;
  const { texts, leftOut } = fitting(access.jobs.list(), MOST_BYTES);
  call.response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  call.response.end(`{"jobs":[${texts.join(',')}],"leftOut":${leftOut + access.jobs.refused}}`);
}

interface Queued {
  usedBytes: number;
  readonly waiting: { readonly at: number; readonly text: string }[];
}

/** As many jobs as fit, in their order. The namespace with the least so far is next, so that no namespace takes the place of another. */
function fitting(
  jobs: readonly ObservedJob[],
  mostBytes: number,
): { readonly texts: readonly string[]; readonly leftOut: number } {
  const namespaces = new Map<string, Queued>();
  jobs.forEach((job, at) => {
    const queued = namespaces.get(job.namespace) ?? { usedBytes: 0, waiting: [] };
    queued.waiting.push({ at, text: JSON.stringify(job) });
    namespaces.set(job.namespace, queued);
  });
  const taken: { readonly at: number; readonly text: string }[] = [];
  const queues = new Set(namespaces.values());
  for (let bytes = 0; queues.size > 0;) {
    let next: Queued | undefined;
    for (const one of queues) if (next === undefined || one.usedBytes < next.usedBytes) next = one;
    const job = next?.waiting.shift();
    if (next === undefined || job === undefined) {
      if (next !== undefined) queues.delete(next);
      continue;
    }
    const size = Buffer.byteLength(job.text) + 1;
    next.usedBytes += size;
    if (bytes + size > mostBytes) continue;
    bytes += size;
    taken.push(job);
  }
  const texts = taken.toSorted((one, other) => one.at - other.at).map(({ text }) => text);
  return { texts, leftOut: jobs.length - texts.length };
}

async function reportIn(
  request: IncomingMessage,
  onBytes: (bytes: number) => void,
): Promise<ObserverReport | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    onBytes(chunk.length);
    if (bytes > MAX_REPORT_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return ObserverReport.safeParse(parseForeignJson(Buffer.concat(chunks).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
