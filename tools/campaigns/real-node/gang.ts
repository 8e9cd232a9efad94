import { API_GROUP_VERSION, LABELS, type TrainingJob } from '@coxswain/api-types';
import { waitFor, type ControlPlane } from '@coxswain/local-cluster';
import { readdirSync, readFileSync } from 'node:fs';

/** A pod of the job's gang, as the API server has it now. */
export interface GangPod {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly phase: string;
  readonly isEnding: boolean;
}

interface PodObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
}

/** A job as the cluster has it, and its pods. */
export class Gang {
  readonly #plane: ControlPlane;
  readonly #namespace: string;
  readonly #name: string;

  constructor(plane: ControlPlane, at: { readonly namespace: string; readonly name: string }) {
    this.#plane = plane;
    this.#namespace = at.namespace;
    this.#name = at.name;
  }

  job(): Promise<TrainingJob> {
    const path = `/apis/${API_GROUP_VERSION}/namespaces/${this.#namespace}/trainingjobs/${this.#name}`;
    return this.#plane.admin.json<TrainingJob>({ method: 'GET', path });
  }

  /** Those of every epoch that are still there. */
  async pods(): Promise<readonly GangPod[]> {
    const selector = encodeURIComponent(`${LABELS.jobName}=${this.#name}`);
    const path = `/api/v1/namespaces/${this.#namespace}/pods?labelSelector=${selector}`;
    const { items } = await this.#plane.admin.json<{ items: readonly PodObject[] }>({ method: 'GET', path });
    return items.map(({ metadata, spec, status }) => ({
      name: metadata.name,
      uid: metadata.uid,
      node: spec.nodeName ?? '',
      phase: status.phase,
      isEnding: metadata.deletionTimestamp !== undefined,
    }));
  }

  async running(): Promise<readonly GangPod[]> {
    return (await this.pods()).filter(({ phase, isEnding }) => phase === 'Running' && !isEnding);
  }

  async uids(): Promise<readonly string[]> {
    return (await this.running()).map(({ uid }) => uid).sort();
  }

  /** Waits until the job holds; the error says what it was like in the end. */
  async until(
    what: string,
    holds: (job: TrainingJob) => boolean | Promise<boolean>,
    deadlineMs = 180_000,
  ): Promise<TrainingJob> {
    let last: TrainingJob | undefined;
    try {
      return await waitFor(
        async () => {
          last = await this.job();
          return (await holds(last)) && last;
        },
        { what, deadlineMs, intervalMs: 200 },
      );
    } catch (error) {
      const { state, epoch, summary } = last?.status ?? {};
      throw new Error(`waited ${deadlineMs / 1000} s for ${what}; the job is ${state}, attempt ${epoch}: ${summary}`, {
        cause: error,
      });
    }
  }
}

/** `1.2`: second run of the ranks of epoch 1. */
export function incarnationOf(job: TrainingJob): string {
  const attempt = job.status?.attempts?.at(-1);
  return `${job.status?.epoch ?? 0}.${attempt?.incarnation ?? 1}`;
}

/** The process of a rank: this process sees those of all containers. */
export function rankProcess(rank: number): number | undefined {
  const wanted = [`RANK=${rank}`, 'COXSWAIN_INCARNATION='];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1)
    .find((pid) => {
      const environment = readProc(pid, 'environ').split('\0');
      const isRank = wanted.every((word) =>
        environment.some((one) => (word.endsWith('=') ? one.startsWith(word) : one === word)),
      );
      return isRank && readProc(pid, 'cmdline').includes('coxswain_reference');
    });
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return ''; // It ended meanwhile.
  }
}
