import type { ApiClient } from '@coxswain/api-client';
import { JobCreate, TrainingJobSpec, type TrainingJob } from '@coxswain/api-types';
import { defineDrainRequests, drainRequests, waitFor } from '@coxswain/local-cluster';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import type { RealCluster } from './cluster.ts';
import type { HostFolder } from './engine-python.ts';
import { Gang, incarnationOf, rankProcess } from './gang.ts';
import { NODE_GRACE_SECONDS, type Installation } from './installation.ts';
import { NAMESPACE, RUNTIME, runtimeWithPython } from './job-objects.ts';
import type { RealNode } from './node.ts';
import { must, type Steps } from './steps.ts';
import { verifyOnRequest } from './verification-step.ts';
import type { Volumes } from './volumes.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');
/** It ends with the campaign, not by itself. */
const STEPS = 1_000_000;
const SAVE_EVERY = 20;
const SHORT_ABSENCE_MS = 20_000;
/** A job and its PriorityClass. */
const URGENT = 'urgent';

interface JobContext {
  readonly cluster: RealCluster;
  readonly installation: Installation;
  readonly steps: Steps;
  readonly volumes: Volumes;
  /** Of our images. */
  readonly tag: string;
  readonly python: { readonly folders: readonly HostFolder[]; readonly path: string };
}

/** What is done to a job that trains. */
export interface JobSteps {
  askApi(): Promise<{ readonly apiVersions: string; readonly page: string }>;
  /** Resolves with false when the job never trained: there is nothing to do anything to. */
  run(): Promise<boolean>;
  /** The gang, which runs. */
  running(): Promise<Gang>;
  /** Waits for a step beyond those that were done. */
  makesProgress(gang: Gang): Promise<void>;
  /** NVSentinel asks to drain a node of the gang; this says what was seen. */
  answerDrain(): Promise<string>;
  /** A job of higher priority needs a node of the gang, and gives it back. */
  makeRoom(): Promise<string>;
}

/** The steps of the campaign that concern its job, against a real API. */
export function jobSteps(context: JobContext): JobSteps {
  return new RealJob(context);
}

class RealJob implements JobSteps {
  readonly #context: JobContext;
  #api: ApiClient | undefined;
  #id = '';
  #gang: Gang | undefined;

  constructor(context: JobContext) {
    this.#context = context;
  }

  async askApi(): Promise<{ readonly apiVersions: string; readonly page: string }> {
    const { installation } = this.#context;
    this.#api = await installation.api();
    const { items } = await this.#api.projects();
    const page = await fetch(await installation.url());
    const html = await page.text();
    must(page.ok && html.includes('<div id="root"'), `the page answers ${page.status}: ${html.slice(0, 200)}`);
    return { apiVersions: `${items.length} projects`, page: `page of ${html.length} bytes` };
  }

  async run(): Promise<boolean> {
    const { steps } = this.#context;
    const trains = await steps.run('the reference engine trains on four pods of a restricted namespace', () =>
      this.#train(),
    );
    if (!trains) return false;
    await steps.run('a pod that is the trainer’s user verifies a save on request, and finds a flipped byte', () =>
      verifyOnRequest(this.#context.cluster.plane, this.#context.volumes.folderOf('checkpoints')),
    );
    await steps.run('a rank is killed and the gang is back, in the same pods', () => this.#killRank());
    await steps.run('a kubelet is away for less than the grace', () => this.#kubeletAway());
    await steps.run('a kubelet is away for more than the grace', () => this.#kubeletLongAway());
    await steps.run('a pod is deleted: SIGTERM, save, and the gang goes on from that', () => this.#deletePod());
    await steps.run('suspended with a save, resumed at two ranks on another layout', () => this.#reshard());
    await steps.run('a node dies for more than the grace: the gang goes on elsewhere', () => this.#loseNode());
    return true;
  }

  async running(): Promise<Gang> {
    const gang = this.#theGang();
    await gang.until('the job to run', ({ status }) => status?.state === 'Running');
    return gang;
  }

  async makesProgress(_gang: Gang): Promise<void> {
    // An API that was just replaced may be out of reach for a moment: a failed read is repeated.
    const { step: before } = await waitFor(async () => ({ step: await this.#step() }), { what: 'the API to answer' });
    await waitFor(async () => (await this.#step()) > before, {
      what: `a step beyond ${before}`,
      intervalMs: 500,
      deadlineMs: 120_000,
    });
  }

  async answerDrain(): Promise<string> {
    const { plane } = this.#context.cluster;
    const gang = await this.running();
    const step = await this.#step();
    const { name: node } = await this.#nodeOfGang(gang);
    const listed = (await gang.running()).filter((pod) => pod.node === node).map(({ name }) => name);
    await defineDrainRequests(plane);
    const drains = drainRequests(plane, NAMESPACE);
    const askedMs = performance.now();
    await drains.create('gpu-fault', { nodeName: node, podsToDrain: { [NAMESPACE]: listed } });
    await waitFor(async () => (await drains.states('gpu-fault')).includes('DrainComplete=True'), {
      what: 'the drain to be complete',
      deadlineMs: 180_000,
    });
    const left = (await gang.pods()).filter(({ name }) => listed.includes(name));
    must(left.length === 0, `the drain is complete, and ${left.length} of its pods are there`);
    const seconds = ((performance.now() - askedMs) / 1000).toFixed(1);
    const job = await gang.until('the gang to run on other nodes', async ({ status }) => {
      const pods = await gang.running();
      return status?.state === 'Running' && pods.length === 2 && pods.every((pod) => pod.node !== node);
    });
    await this.makesProgress(gang);
    must(resumedAt(job) >= step, `it was at step ${step} and went on from ${resumedAt(job)}`);
    return `${node} was drained after ${seconds} s; at step ${step}, and on from ${resumedAt(job)} on other nodes`;
  }

  async makeRoom(): Promise<string> {
    const api = this.#theApi();
    const gang = await this.running();
    const step = await this.#step();
    await this.#context.cluster.plane.kubectl(['create', 'priorityclass', URGENT, '--value=100']);
    await api.updateProject(NAMESPACE, { priorityClasses: [URGENT] });
    const { spec } = jobRequest(this.#context.tag);
    const urgent = await api.createJob(
      NAMESPACE,
      JobCreate.parse({ name: URGENT, spec: { ...spec, priorityClassName: URGENT } }),
    );
    const askedMs = performance.now();
    const other = new Gang(this.#context.cluster.plane, { namespace: NAMESPACE, name: URGENT });
    await other.until('the urgent job to make a step', ({ status }) => (status?.progress?.step ?? 0) > 0, 300_000);
    const seconds = ((performance.now() - askedMs) / 1000).toFixed(1);
    const left = await gang.job();
    const { reason, forClaim } = left.status?.attempts?.at(-1) ?? {};
    must(reason === 'MadeRoom' && forClaim !== undefined, `the attempt of the other job ended as ${reason}`);
    await api.deleteJob({ project: NAMESPACE, id: urgent.id });
    const job = await gang.until(
      'the first job to run again',
      ({ status }) => status?.state === 'Running' && (status.attempts?.at(-1)?.epoch ?? 0) > (left.status?.epoch ?? 0),
      300_000,
    );
    await this.makesProgress(gang);
    must(resumedAt(job) >= step, `it was at step ${step} and went on from ${resumedAt(job)}`);
    return `the urgent job trained after ${seconds} s; the other one was at step ${step}, and on from ${resumedAt(job)}`;
  }

  async #train(): Promise<string> {
    const { volumes, python } = this.#context;
    await volumes.make(python.folders);
    const shipped: unknown = parse(readFileSync(join(EXAMPLES, 'runtimes/restricted.yaml'), 'utf8'));
    await volumes.apply([runtimeWithPython(shipped, python.folders, python.path)]);
    const api = this.#theApi();
    await api.createProject({ name: NAMESPACE, namespaces: [NAMESPACE] });
    const job = await api.createJob(NAMESPACE, jobRequest(this.#context.tag));
    this.#id = job.id;
    this.#gang = new Gang(this.#context.cluster.plane, { namespace: NAMESPACE, name: job.name });
    const running = await this.#gang.until(
      'a checkpoint',
      ({ status }) => (status?.checkpoint?.step ?? 0) > 0,
      240_000,
    );
    const pods = await this.#gang.running();
    must(pods.length === 4, `${pods.length} pods run, not 4`);
    must(new Set(pods.map(({ node }) => node)).size === 4, 'two pods are on one node');
    return `on ${pods.map(({ node }) => node).join(', ')}; a checkpoint at step ${running.status?.checkpoint?.step}`;
  }

  async #killRank(): Promise<string> {
    const gang = await this.running();
    const uids = await gang.uids();
    const before = incarnationOf(await gang.job());
    const pid = rankProcess(2);
    if (pid === undefined) throw new Error('there is no process of rank 2');
    const killedMs = performance.now();
    process.kill(pid, 'SIGKILL');
    const job = await gang.until(
      'the gang to run again',
      (one) => incarnationOf(one) !== before && one.status?.state === 'Running',
    );
    const seconds = (performance.now() - killedMs) / 1000;
    await this.makesProgress(gang);
    must(String(await gang.uids()) === String(uids), 'its pods were replaced');
    return `incarnation ${before} → ${incarnationOf(job)} after ${seconds.toFixed(1)} s`;
  }

  /** The launcher goes on reporting, so its gang is left alone however long a kubelet is away. */
  async #kubeletAway(): Promise<string> {
    return this.#withoutKubelet(async () => {
      await delay(SHORT_ABSENCE_MS);
      return `${SHORT_ABSENCE_MS / 1000} s`;
    });
  }

  async #kubeletLongAway(): Promise<string> {
    return this.#withoutKubelet(async (node) => {
      const goneMs = performance.now();
      await node.notReady();
      await delay(NODE_GRACE_SECONDS * 1000 + SHORT_ABSENCE_MS);
      return `${((performance.now() - goneMs) / 1000).toFixed(0)} s, not ready for ${NODE_GRACE_SECONDS} s and more,`;
    });
  }

  async #withoutKubelet(absence: (node: RealNode) => Promise<string>): Promise<string> {
    const gang = await this.running();
    const before = { uids: await gang.uids(), incarnation: incarnationOf(await gang.job()) };
    const node = await this.#nodeOfGang(gang);
    await node.killKubelet();
    const time = await absence(node);
    await this.makesProgress(gang);
    await node.startKubelet();
    await node.ready();
    await this.makesProgress(gang);
    must(String(await gang.uids()) === String(before.uids), 'its pods were replaced');
    must(incarnationOf(await gang.job()) === before.incarnation, 'its ranks were started again');
    return `${time} without the kubelet of ${node.name}; the same pods and ranks train on`;
  }

  async #deletePod(): Promise<string> {
    const gang = await this.running();
    await this.makesProgress(gang);
    const before = await gang.job();
    const step = await this.#step();
    const [pod] = await gang.running();
    await this.#context.cluster.plane.kubectl(['-n', NAMESPACE, 'delete', 'pod', pod?.name ?? '', '--wait=false']);
    const job = await gang.until(
      'the gang to run again',
      (one) => incarnationOf(one) !== incarnationOf(before) && one.status?.state === 'Running',
    );
    const from = resumedAt(job);
    must(from >= step, `it was at step ${step} and went on from ${from}`);
    return `at step ${step}, and on from ${from}`;
  }

  async #reshard(): Promise<string> {
    const gang = await this.running();
    const reference = { project: NAMESPACE, id: this.#id };
    const step = await this.#step();
    await this.#theApi().suspend(reference);
    const suspended = await gang.until('the job to be suspended', ({ status }) => status?.state === 'Suspended');
    const saved = suspended.status?.checkpoint?.step ?? 0;
    must(saved >= step, `it was at step ${step} and saved ${saved}`);
    await this.#theApi().resume(reference, {
      layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2 },
    });
    const job = await gang.until('two pods that train', async ({ status }) => {
      return status?.state === 'Running' && (await gang.running()).length === 2;
    });
    await this.makesProgress(gang);
    must(resumedAt(job) === saved, `it went on from step ${resumedAt(job)}, not ${saved}`);
    return `saved at step ${saved}; pipeline 2 x data 2 → data 2`;
  }

  async #loseNode(): Promise<string> {
    const gang = await this.running();
    const before = await gang.job();
    const node = await this.#nodeOfGang(gang);
    await node.lose();
    const job = await gang.until(
      'the gang to run on other nodes',
      async (one) =>
        one.status?.epoch !== before.status?.epoch &&
        one.status?.state === 'Running' &&
        (await gang.running()).every((pod) => pod.node !== node.name),
      300_000,
    );
    await this.makesProgress(gang);
    await node.comeBack();
    await node.ready();
    return `without ${node.name}; attempt ${before.status?.epoch} → ${job.status?.epoch}; resumed from step ${resumedAt(job)}`;
  }

  async #nodeOfGang(gang: Gang): Promise<RealNode> {
    const [, pod] = await gang.running();
    const node = this.#context.cluster.gpuNodes.find(({ name }) => name === pod?.node);
    if (node === undefined) throw new Error('no second pod runs');
    return node;
  }

  /** The newest step that the API knows: it is reported within a second, status within fifteen. */
  async #step(): Promise<number> {
    const { items } = await this.#theApi().steps({ project: NAMESPACE, id: this.#id }, { maxPoints: 4 });
    const newest = items.at(-1);
    // A point of many steps is named by its first.
    return newest?.bucket?.lastStep ?? newest?.step ?? 0;
  }

  #theApi(): ApiClient {
    if (this.#api === undefined) throw new Error('the API was never reached');
    return this.#api;
  }

  #theGang(): Gang {
    if (this.#gang === undefined) throw new Error('the job was never made');
    return this.#gang;
  }
}

/** The step that the newest attempt began from. */
function resumedAt(job: TrainingJob): number {
  return job.status?.attempts?.at(-1)?.resumedFrom?.step ?? 0;
}

function jobRequest(tag: string): JobCreate {
  const example = parse(readFileSync(join(EXAMPLES, 'jobs/tiny-gpt.yaml'), 'utf8')) as {
    metadata: { name: string };
    spec: { engine: object; training: object; checkpoint: object };
  };
  const { spec, metadata } = example;
  const changed = {
    ...spec,
    engine: { ...spec.engine, image: `coxswain/engine-reference:${tag}` },
    training: { ...spec.training, steps: STEPS },
    checkpoint: { ...spec.checkpoint, everySteps: SAVE_EVERY },
    // One pod for each rank, on four nodes with a GPU each; a tensor group would want one node.
    layout: { pipelineParallelDegree: 2, dataParallelDegree: 2 },
    resources: { gpusPerNode: 1 },
    runtimeRef: { name: RUNTIME },
  };
  return JobCreate.parse({ name: metadata.name, spec: TrainingJobSpec.parse(changed) });
}
