import { setTimeout as delay } from 'node:timers/promises';
import {
  CONTAINERS,
  KEPT_LOGS_PATH,
  KeptLogsAnswer,
  KeptLogsPod,
  type KeptLogsQuestion,
  LABELS,
} from '@coxswain/api-types';
import { type KubeClient, type KubeObject, resourcePath } from '@coxswain/kube';
import { parseForeignJson, safeText } from '@coxswain/safe-text';
import { Inject, Injectable } from '@nestjs/common';
import { askOperator, bytesOf } from '../cluster/operator-endpoint.ts';
import type { Config } from '../config/config.ts';
import { CONFIG, KUBE } from '../infrastructure/tokens.ts';
import { afterWaiting } from '../limits/request-cpu.ts';

/** Which lines of which job. */
export interface KeptLogsRequest extends Omit<KeptLogsQuestion, 'folder'> {
  readonly jobUid: string;
}

/** What is kept, or a clause on why nothing is shown. */
export type KeptLog =
  { readonly kind: 'log'; readonly body: AsyncIterable<Uint8Array> } | { readonly kind: 'none'; readonly why: string };

type WorkerPod = KubeObject & { readonly status?: { readonly phase?: string } };

const MAX_ANSWER_BYTES = 16_384;
/** Longest first line of the pod. */
const MAX_HEAD_BYTES = 1_048_576;
/** An image may have to be pulled. Proxies close a request without an answer after a minute; the pod is found again by the next request. */
const START_WITHIN_MS = 50_000;
const POLL_MS = 500;
const NEWLINE = 0x0a;

/** Logs that outlived their pods. The operator starts a pod that reads them from the job's claim or bucket; its own log has the lines. */
@Injectable()
export class KeptLogsService {
  readonly #operator: Config['operator'];
  readonly #kube: Pick<KubeClient, 'get' | 'requestStream'>;

  constructor(
    @Inject(CONFIG) config: Pick<Config, 'operator'>,
    @Inject(KUBE) kube: Pick<KubeClient, 'get' | 'requestStream'>,
  ) {
    this.#operator = config.operator;
    this.#kube = kube;
  }

  /** Rejects only if the cluster does not answer. */
  async open(request: KeptLogsRequest, signal: AbortSignal): Promise<KeptLog> {
    const query = { question: JSON.stringify(request) };
    const answer = await afterWaiting(
      askOperator(this.#operator, { path: KEPT_LOGS_PATH, query }, signal, async (response) =>
        KeptLogsPod.parse(parseForeignJson((await bytesOf(response, MAX_ANSWER_BYTES)).toString('utf8'))),
      ),
    );
    if (answer.kind === 'unreachable') return none(`the operator does not answer (${answer.why})`);
    if (answer.kind === 'refused')
      return none(
        safeText(answer.title ?? `the operator answered ${answer.status}; it may be of an earlier release`, 512),
      );
    return await this.#read(answer.value, request, signal);
  }

  async #read({ namespace, name }: KeptLogsPod, request: KeptLogsRequest, signal: AbortSignal): Promise<KeptLog> {
    const path = resourcePath({ group: '', version: 'v1', plural: 'pods', namespace, name });
    const problem = await this.#started(path, request.jobUid, signal);
    if (problem !== undefined) return none(problem);
    const query = { container: CONTAINERS.trainer, follow: true };
    const { body } = await afterWaiting(this.#kube.requestStream(`${path}/log`, { query, signal, accept: '*/*' }));
    const { head, rest } = await firstLine(body);
    const answer = answerIn(head);
    if (answer === undefined) return none('the pod that reads it failed');
    if (answer.segments > 0) return { kind: 'log', body: rest };
    const { attempts } = answer;
    const kept =
      attempts.length === 0
        ? 'no log of the job is kept'
        : `kept are logs of attempts ${attempts.slice(-10).join(', ')}`;
    return none(`nothing of it is kept; ${kept}`);
  }

  /** Waits until the pod can be read, and returns undefined, or a clause on why it cannot. */
  async #started(path: string, jobUid: string, signal: AbortSignal): Promise<string | undefined> {
    const untilMs = performance.now() + START_WITHIN_MS;
    for (;;) {
      const pod = await afterWaiting(this.#kube.get<WorkerPod>(path));
      const { labels, ownerReferences } = pod.metadata;
      // The name came from the operator. Labels and owner say whose the pod is.
      if (labels?.[LABELS.worker] !== 'logs' || ownerReferences?.some(({ uid }) => uid === jobUid) !== true)
        return 'another program uses the name of the pod that reads it';
      const phase = pod.status?.phase ?? 'Pending';
      if (phase !== 'Pending') return undefined;
      if (performance.now() > untilMs)
        return `pod ${pod.metadata.name}, which reads it, has not started yet: ask again in a minute, or see \`kubectl describe pod\``;
      await afterWaiting(delay(POLL_MS, undefined, { signal }));
    }
  }
}

function none(why: string): KeptLog {
  return { kind: 'none', why };
}

function answerIn(head: Buffer): KeptLogsAnswer | undefined {
  try {
    return KeptLogsAnswer.parse(parseForeignJson(head.toString('utf8')));
  } catch {
    return undefined;
  }
}

async function firstLine(
  body: AsyncIterable<Uint8Array>,
): Promise<{ readonly head: Buffer; readonly rest: AsyncIterable<Uint8Array> }> {
  const parts = body[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  for (;;) {
    const { done, value } = await afterWaiting(parts.next());
    if (done === true) return { head, rest: after(Buffer.alloc(0), parts) };
    head = Buffer.concat([head, value]);
    const end = head.indexOf(NEWLINE);
    if (end !== -1 || head.length > MAX_HEAD_BYTES)
      return { head: head.subarray(0, Math.max(0, end)), rest: after(head.subarray(end + 1), parts) };
  }
}

async function* after(begin: Buffer, parts: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (begin.length > 0) yield begin;
    for (let next = await parts.next(); next.done !== true; next = await parts.next()) yield next.value;
  } finally {
    await parts.return?.();
  }
}
