import {
  API_GROUP_VERSION,
  LABELS,
  NODE_LABELS,
  type Checkpoint,
  type Placement,
  type TerminationCause,
  type TrainingJob,
} from '@coxswain/api-types';
import { waitFor, SYSTEM_NAMESPACE } from '@coxswain/local-cluster';
import type { FaultProxy, Verb } from '@coxswain/test-harness';
import type { RawPod } from './raw-pod.ts';
import type { World } from './world.ts';

/** Where the operator dies: at the how-manieth write of a job's life, and at which moment of it. */
export interface KillPoint {
  /** From 0, in the order of arrival at the apiserver; what belongs to no job (the lease, the Fabric) does not count. */
  readonly write: number;
  readonly moment: KillMoment;
}

/** Before the write is sent; when it is done and the answer is lost; or when the answer has arrived. */
export const KILL_MOMENTS = ['beforeSend', 'answerLost', 'afterAnswer'] as const;
export type KillMoment = (typeof KILL_MOMENTS)[number];

/** A job's life as the apiserver saw it. */
export interface Life {
  /** The operator's writes, in order, as `verb path` without what differs from life to life. */
  readonly writes: readonly string[];
  /** Writes that the apiserver carried out; Events, of which people may be told twice, do not count. */
  readonly done: number;
  /** What the job, its children and its checkpoints were like in the end, without times and UIDs. */
  readonly end: unknown;
  /** Invariants that were broken on the way, in words. */
  readonly broken: readonly string[];
  /** Whether the kill point was reached. */
  readonly killed: boolean;
}

/** Pods of the gang, one GPU each. */
const PODS = 8;
/** Epochs of a clean life: one ends with a failure, one with a suspend, one well. */
const FAILING_EPOCH = 1;
const SUSPENDED_EPOCH = 2;

/**
 * Plays one job's life again and again, through a proxy that kills the operator at a chosen write: the planner chooses a layout, a gang of eight pods
 * starts, a rank fails and leaves a checkpoint that only its termination message tells of, the gang restarts from it, is suspended, goes on and
 * finishes, and the job is deleted.
 */
export class KillGround {
  readonly #world: World;
  readonly #proxy: FaultProxy;
  readonly #namespace: string;
  #process: { kill(): Promise<void> } | undefined;
  #lives = 0;
  /** Epoch in which the job under way is seen to run. */
  #runningEpoch = 0;

  private constructor(world: World, proxy: FaultProxy, namespace: string) {
    this.#world = world;
    this.#proxy = proxy;
    this.#namespace = namespace;
  }

  /** In a world without nodes. */
  static async prepare(world: World): Promise<KillGround> {
    // The planner must know the GPUs, so that every life has a moment at which it is asked.
    const labels = { [NODE_LABELS.gpuType]: 'simulated' };
    const nodes = Array.from({ length: PODS }, (_, index) => `node-${index}`);
    await Promise.all(nodes.map((name) => world.node(name, 1, labels)));
    const namespace = await world.namespace();
    await world.claim(namespace, 'checkpoints');
    const ground = new KillGround(world, await world.faultProxy(), namespace);
    world.kubelet.fateOf = (pod) => ground.#fateOf(pod);
    await ground.#startOperator();
    // What the operator makes for itself at its first start belongs to no job's life.
    await waitFor(() => ground.#proxy.writes.some(({ path }) => isLease(path)), {
      what: 'the operator to lead',
    });
    return ground;
  }

  /** One life; without a kill point a clean one. */
  async live(kill?: KillPoint): Promise<Life> {
    const name = `life-${(this.#lives += 1)}`;
    this.#runningEpoch = 0;
    this.#proxy.clearRecords();
    const trap = kill === undefined ? undefined : this.#arm(kill);
    const broken = new Set<string>();
    this.#world.kubelet.onLook = (pods) => auditGangs(pods, broken);
    try {
      const job = await this.#world.job(this.#namespace, name, {
        checkpoint: { claimName: 'checkpoints', path: 'runs', everySteps: 10 },
        layout: undefined,
        gpus: PODS,
        resources: { gpusPerNode: 1 },
        model: { layers: 4, hiddenSize: 64, attentionHeads: 4, sequenceLength: 64 },
        training: { steps: 100, globalBatchSize: 8 },
      });
      await this.#untilComplete(job, broken);
      const end = await this.#endOf(job);
      await this.#delete(job);
      if (trap?.isSprung() === true) await trap.revived();
      auditWrites(this.#proxy, broken);
      const writes = this.#proxy.writes.filter(({ path }) => !isOfNoJob(path));
      return {
        writes: writes.map(
          ({ verb, path, status }) => `${verb} ${generic(path, name)}${status === 0 ? ' (not sent)' : ''}`,
        ),
        done: writes.filter(({ path, status }) => isDone(status) && !path.includes('/events')).length,
        end,
        broken: [...broken],
        killed: trap?.isSprung() ?? false,
      };
    } finally {
      trap?.disarm();
      this.#world.kubelet.onLook = () => undefined;
    }
  }

  /** After a life that did not end: an operator that may be dead must not spoil the next one. */
  async restartOperator(): Promise<void> {
    await this.#process?.kill();
    await this.#forgetHolder();
    await this.#startOperator();
  }

  /** Kills the operator at that write and starts it again. */
  #arm({ write, moment }: KillPoint): { isSprung(): boolean; revived(): Promise<void>; disarm(): void } {
    let seen = -1;
    let isThis = false;
    let struck: number | undefined;
    let revival: Promise<void> | undefined;
    const counts = ({ verb, path, query }: { verb: Verb; path: string; query: URLSearchParams }): boolean => {
      const isWrite = !['get', 'list', 'watch'].includes(verb) && !query.has('dryRun') && !isOfNoJob(path);
      if (isWrite) seen += 1;
      isThis = isWrite && struck === undefined && seen === write;
      return isThis && moment === 'beforeSend';
    };
    const faults = [
      this.#proxy.add({ match: { where: counts }, action: { kind: 'refuse' } }),
      this.#proxy.add({
        match: { where: () => isThis && moment === 'answerLost' },
        action: { kind: 'loseAnswer', how: 'hang' },
      }),
    ];
    const killAndRevive = async (): Promise<void> => {
      await this.#process?.kill();
      revival = this.#forgetHolder().then(() => this.#startOperator());
      // A rejection is told by `revived`.
      revival.catch(() => undefined);
    };
    const unhook = this.#proxy.onWrite(async ({ stage, sequence }) => {
      if (stage === 'beforeSend' && isThis) {
        isThis = false;
        struck = sequence;
        if (moment === 'beforeSend') await killAndRevive();
      } else if (stage === 'afterAnswer' && sequence === struck && moment === 'answerLost') await killAndRevive();
      // The answer leaves as soon as this returns; a moment later the operator has it, and may have begun what comes next.
      else if (stage === 'afterAnswer' && sequence === struck) setTimeout(() => void killAndRevive(), AFTER_ANSWER_MS);
    });
    return {
      isSprung: () => struck !== undefined,
      revived: async () => {
        await waitFor(() => revival !== undefined, { what: 'the operator to be killed' });
        await revival;
      },
      disarm: () => {
        unhook();
        for (const fault of faults) fault.remove();
      },
    };
  }

  async #startOperator(): Promise<void> {
    this.#process = await this.#world.operatorProcess({ apiserverUrl: this.#proxy.url });
  }

  /** The dead leader's lease would run out in seconds; a test of hundreds of kills does not wait for each. */
  async #forgetHolder(): Promise<void> {
    await this.#world.plane.admin.send({
      method: 'PATCH',
      path: `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/coxswain-operator`,
      body: { spec: { holderIdentity: '' } },
      contentType: 'application/merge-patch+json',
    });
  }

  /** Ranks fail or finish only once the job is recorded as running, so that every life has the same chapters. */
  #fateOf({ jobName, epoch, podIndex }: { jobName: string; epoch: number; podIndex: number }): Fate {
    if (!jobName.startsWith('life-') || epoch > this.#runningEpoch) return { kind: 'runs' };
    if (epoch > SUSPENDED_EPOCH) return { kind: 'exits', code: 0 };
    return epoch === FAILING_EPOCH && podIndex === 1 ? { kind: 'exits', code: 1, cause: CAUSE } : { kind: 'runs' };
  }

  async #untilComplete(job: TrainingJob, broken: Set<string>): Promise<void> {
    let epoch = 0;
    await waitFor(
      async () => {
        const { status } = await this.#world.readJob(this.#namespace, job.metadata.name);
        if ((status?.epoch ?? 0) < epoch) broken.add(`the epoch fell from ${epoch} to ${status?.epoch ?? 0}`);
        epoch = status?.epoch ?? 0;
        if (status?.state === 'Running') this.#runningEpoch = epoch;
        if (status?.state === 'Running' && epoch === SUSPENDED_EPOCH) await this.#suspend(job, true);
        if (status?.state === 'Suspended') await this.#suspend(job, false);
        if (status?.state === 'Complete') return true;
        throw new Error(`it is ${status?.state} in epoch ${epoch}: ${status?.summary}`);
      },
      { intervalMs: 30, what: `the job ${job.metadata.name} to be complete` },
    );
  }

  /** A user's wish, which does not pass the proxy. */
  async #suspend(job: TrainingJob, suspend: boolean): Promise<void> {
    await this.#world.plane.admin.json({
      method: 'PATCH',
      path: `/apis/${API_GROUP_VERSION}/namespaces/${this.#namespace}/trainingjobs/${job.metadata.name}`,
      body: { spec: { suspend } },
      contentType: 'application/merge-patch+json',
    });
  }

  async #endOf(job: TrainingJob): Promise<unknown> {
    const { uid, name } = job.metadata;
    const { status } = await this.#world.readJob(this.#namespace, name);
    const selector = `labelSelector=${encodeURIComponent(`${LABELS.jobUid}=${uid}`)}`;
    const list = async <T>(path: string): Promise<readonly T[]> =>
      (await this.#world.plane.admin.json<{ items: T[] }>({ method: 'GET', path: `${path}?${selector}` })).items;
    const ours = `/apis/${API_GROUP_VERSION}/namespaces/${this.#namespace}`;
    const pods = await list<RawPod>(`/api/v1/namespaces/${this.#namespace}/pods`);
    const placements = await list<Placement>(`${ours}/placements`);
    const checkpoints = await list<Checkpoint>(`${ours}/checkpoints`);
    return {
      state: status?.state,
      epoch: status?.epoch,
      restarts: status?.restarts,
      checkpoint: status?.checkpoint?.step,
      plan: { layout: status?.plan?.layout, microBatchSize: status?.plan?.microBatchSize },
      attempts: status?.attempts?.map(({ epoch, stage, outcome, reason, charged, answer, resumedFrom, lastStep }) => ({
        epoch,
        stage,
        outcome,
        reason,
        charged,
        answer,
        resumedFrom: resumedFrom?.step,
        lastStep,
      })),
      conditions: status?.conditions?.map(({ type, status: is, reason }) => `${type}=${is}/${reason}`).toSorted(),
      pods: pods.map(({ metadata, status: { phase } }) => `${placeOf(metadata.name)} ${phase}`).toSorted(),
      placements: placements.map(({ spec }) => ({
        epoch: spec.epoch,
        nodes: spec.nodes.toSorted(),
        resume: spec.resume?.step,
      })),
      checkpoints: checkpoints.map(({ spec, status: is }) => ({
        epoch: spec.epoch,
        step: spec.step,
        state: is?.state,
      })),
    };
  }

  /** Deletes the job and waits until it is gone; the pods, which a garbage collector would take, are taken here. */
  async #delete(job: TrainingJob): Promise<void> {
    const { admin } = this.#world.plane;
    const { name, uid } = job.metadata;
    const path = `/apis/${API_GROUP_VERSION}/namespaces/${this.#namespace}/trainingjobs/${name}`;
    await admin.json({ method: 'DELETE', path });
    await waitFor(async () => (await admin.send({ method: 'GET', path })).status === 404, {
      intervalMs: 30,
      what: `the job ${name} to be gone`,
    });
    const selector = encodeURIComponent(`${LABELS.jobUid}=${uid}`);
    const query = `?gracePeriodSeconds=0&labelSelector=${selector}`;
    await admin.send({ method: 'DELETE', path: `/api/v1/namespaces/${this.#namespace}/pods${query}` });
  }
}

/** What differs between a life with a kill and a clean one, in words; empty when nothing does that should not. */
export function differences(life: Life, clean: Life): readonly string[] {
  const [end, want] = [JSON.stringify(life.end), JSON.stringify(clean.end)];
  const spare = life.done - clean.done;
  return [
    ...life.broken,
    ...(end === want ? [] : [`the end is ${end}, and ${want} in a clean life`]),
    ...(spare <= 0 ? [] : [`${spare} writes more than a clean life's ${clean.done}`]),
  ];
}

const AFTER_ANSWER_MS = 3;

type Fate = ReturnType<World['kubelet']['fateOf']>;

const CAUSE: TerminationCause = {
  version: 1,
  kind: 'engineFailed',
  epoch: 1,
  node: 'node-b',
  rank: 3,
  exitCode: 1,
  message: 'rank 3 on node node-b exited with code 1',
  lastLines: ['RuntimeError: planted'],
  lastStep: 12,
  unreportedCheckpoints: [
    { step: 10, directory: 'step-10', format: 'torch_dcp', bytes: 1, files: 1, manifestSha256: 'a'.repeat(64) },
  ],
};

/** Adds to `broken` where a look at all pods shows more than one live gang of a job, or two pods in one place of it. */
export function auditGangs(pods: readonly RawPod[], broken: Set<string>): void {
  const epochOf = new Map<string, string>();
  const places = new Set<string>();
  for (const { metadata, status } of pods) {
    if (['Succeeded', 'Failed'].includes(status.phase)) continue;
    const { labels = {} } = metadata;
    const jobUid = labels[LABELS.jobUid] ?? '';
    const epoch = labels[LABELS.epoch] ?? '';
    const known = epochOf.get(jobUid) ?? epoch;
    if (known !== epoch) broken.add(`pods of epochs ${known} and ${epoch} were live at once`);
    epochOf.set(jobUid, epoch);
    const place = `${jobUid} e${epoch}-${labels[LABELS.podIndex]}`;
    if (places.has(place)) broken.add(`two live pods had the place ${place}`);
    places.add(place);
  }
}

/** Deletes carry UIDs, and nothing was made twice. */
function auditWrites(proxy: FaultProxy, broken: Set<string>): void {
  const made = new Set<string>();
  for (const { verb, path, body, status } of proxy.writes) {
    if (verb === 'delete') {
      const { preconditions } = JSON.parse(body) as { preconditions?: { uid?: string } };
      if (preconditions?.uid === undefined) broken.add(`${path} was deleted without its UID`);
    }
    if (verb !== 'create' || status !== 201 || path.endsWith('/events')) continue;
    const { metadata } = JSON.parse(body) as { metadata: { name?: string } };
    const name = `${path}/${metadata.name ?? ''}`;
    if (made.has(name)) broken.add(`${name} was made twice`);
    made.add(name);
  }
}

function isDone(status: number): boolean {
  return status >= 200 && status < 300;
}

function isLease(path: string): boolean {
  return path.includes('/leases');
}

/** The Fabric is looked at from time to time, and leadership renewed, whatever jobs do. */
function isOfNoJob(path: string): boolean {
  return isLease(path) || path.includes('/fabrics');
}

/** Epoch and index of a pod's name; the digits of the hash between them differ from life to life. */
function placeOf(podName: string): string {
  return podName.replace(/^.*-(e\d+)-[0-9a-f]{6}-(\d+)$/, '$1-$2');
}

function generic(path: string, jobName: string): string {
  return path
    .replaceAll(jobName, 'JOB')
    .replaceAll(/JOB-[0-9a-f]{8}/g, 'JOB-UID')
    .replace(/(\/placements\/JOB-UID-e\d+)-[0-9a-f]+/, '$1-HASH')
    .replace(/(\/pods\/JOB-UID-e\d+)-[0-9a-f]{6}-/, '$1-HASH-')
    .replace(/\/events\/.*/, '/events/NAME');
}
