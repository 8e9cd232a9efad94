import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REPORT_TOKEN_AUDIENCE } from '@coxswain/api-types';
import type { IngestAnswer, IngestQuestion } from '../src/ingest/ingest-messages.ts';

/** Of the one gang that reports in these benches, eight ranks a pod. */
export const JOB_UID = 'job-1';
export const RANKS_PER_POD = 8;

/** What the loop's thread would say: every pod is of the gang, and every checkpoint is recorded. */
export function answerOf(question: IngestQuestion): IngestAnswer {
  if (question.kind === 'recordCheckpoint') return 'recorded';
  if (question.kind === 'rosterOf') return aRoster();
  if (question.kind === 'openKeptLogs') return undefined;
  return question.kind === 'isKnownPod' ? true : aPodOfTheGang(question.pod.name);
}

/** A gang of 2,048 pods, a node each. */
function aRoster(): IngestAnswer<'rosterOf'> {
  const nodes = Array.from({ length: 2_048 }, (_, index) => ({
    node: `node-${index}`,
    ranks: `${index * RANKS_PER_POD}-${(index + 1) * RANKS_PER_POD - 1}`,
  }));
  const layout = { tensorParallelDegree: 8, pipelineParallelDegree: 16, dataParallelDegree: 128 };
  return { namespace: 'research', epoch: 1, layout, nodes };
}

/** What the cluster knows of pod `pod-N`. */
function aPodOfTheGang(name: string): IngestAnswer<'findPod'> {
  const podIndex = Number(name.slice('pod-'.length));
  const ranks = Array.from({ length: RANKS_PER_POD }, (_, local) => podIndex * RANKS_PER_POD + local);
  const pod = { namespace: 'research', jobName: 'large', jobUid: JOB_UID, epoch: 1, podIndex, ranks };
  return { pod, newest: { jobUid: JOB_UID, epoch: 1, isFenced: false, incarnation: 1 } };
}

/** An API server that takes every token for that of the pod that it names, after 5 ms, and keeps one Lease. Answers with a kubeconfig for it. */
export async function startStandInServer(): Promise<string> {
  const lease = new StandInLease();
  const api = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as object);
      if (request.url?.includes('/leases') !== true) {
        setTimeout(() => response.end(JSON.stringify(reviewOf(body as TokenReview))), 5);
        return;
      }
      const { status, answer } = lease.answer(request.method ?? 'GET', body as LeaseObject);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const server = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const path = join(mkdtempSync(join(tmpdir(), 'reports-bench-')), 'config');
  const config = {
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

interface TokenReview {
  readonly spec: { readonly token: string };
}

function reviewOf({ spec }: TokenReview): object {
  const extra = {
    'authentication.kubernetes.io/pod-name': [spec.token],
    'authentication.kubernetes.io/pod-uid': [`uid-of-${spec.token}`],
  };
  const user = { username: 'system:serviceaccount:research:default', extra };
  return { status: { authenticated: true, user, audiences: [REPORT_TOKEN_AUDIENCE] } };
}

interface LeaseObject {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec: object;
}

class StandInLease {
  #lease: LeaseObject | undefined;
  #version = 0;

  answer(method: string, body: LeaseObject): { readonly status: number; readonly answer: object } {
    if (method === 'POST' && this.#lease === undefined) return this.#write(body);
    if (this.#lease === undefined) return refusal(404, 'NotFound');
    if (method === 'GET') return { status: 200, answer: this.#lease };
    if (body.metadata.resourceVersion !== this.#lease.metadata.resourceVersion) return refusal(409, 'Conflict');
    return this.#write(body);
  }

  #write(body: LeaseObject): { readonly status: number; readonly answer: object } {
    this.#version += 1;
    const metadata = {
      ...this.#lease?.metadata,
      ...body.metadata,
      uid: 'lease-1',
      resourceVersion: String(this.#version),
    };
    this.#lease = { metadata, spec: { ...this.#lease?.spec, ...body.spec } };
    return { status: 200, answer: this.#lease };
  }
}

function refusal(code: number, reason: string): { readonly status: number; readonly answer: object } {
  return {
    status: code,
    answer: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason },
  };
}
