import { readFileSync } from 'node:fs';
import { fieldsOfTermination, terminationMessage } from './termination.ts';
import { containerEnvironment, type Environment } from '../container/environment.ts';
import type { PodPlace } from '../container/downward.ts';
import type { LocalImage, LocalImages } from '../settings/images-file.ts';
import type { Condition, Container, Pod } from '../kube/kube-types.ts';
import type { MountMode } from '../container/mount-plan.ts';
import type { NodeApi } from '../kube/node-api.ts';
import { afterEarlierLife, afterTheEnd, NEVER, withoutImage } from './container-records.ts';
import { baseEnvironment, fetchReferences, runOf } from './container-run.ts';
import { pause, retry } from './pauses.ts';
import { PodFolder } from './pod-folder.ts';
import { podSources } from './pod-sources.ts';
import { podPhase, podStatus, type ContainerRecord, type ContainerState } from './pod-status.ts';
import { Sandbox } from '../container/sandbox.ts';
import { StatusReporter } from './status-reporter.ts';
import { makeVolume, VolumeNotReady, type MadeVolume, type VolumeSources } from './volumes.ts';

/*
 * One pod, from the moment it is bound to a node until its object is gone.
 *
 *   volumes ──► sandbox ──► init containers, one after another ──► containers, all at once ──► sandbox closed
 *
 * Two things cut this short: `terminate` (deletion, or a deadline) ends the processes with the pod's grace, `abandon`
 * (the node is lost) ends them at once and reports nothing. What happens is written into the records; the status is
 * always derived from the records as a whole, and a reporter of its own carries the latest one to the apiserver.
 *
 * It is longer than 400 lines because every step reads and writes the same records; rules without state stand beside it.
 */

/** What a pod worker needs of the node it runs on. */
export interface WorkerNode {
  readonly api: NodeApi;
  readonly place: PodPlace;
  readonly images: LocalImages;
  readonly directory: string;
  readonly mountMode: MountMode;
  /** Environment that a cluster gives every container: where the apiserver is. */
  readonly clusterEnv: Readonly<Record<string, string>>;
  /** Records an event about a pod; best effort. */
  readonly event: (pod: Pod, event: PodEvent) => void;
  readonly now: () => Date;
}

/** An Event about the pod, as the kubelet would record it. */
export interface PodEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

const REFRESH_RETRY_MS = 10_000;
const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;
const DEFAULT_GRACE_SECONDS = 30;
/** A kubelet gives the containers of a force-deleted pod this long. */
const REMOVED_GRACE_SECONDS = 1;
const SIGTERM = 15;

/** Runs one pod on this node, from its volumes to the end of its containers. */
export class PodWorker {
  readonly #node: WorkerNode;
  readonly #folder: PodFolder;
  readonly #sources: VolumeSources;
  readonly #reporter: StatusReporter;
  readonly #stopping = new AbortController();
  readonly #gone = new AbortController();
  readonly #running = new Set<string>();
  readonly #startTime: string;
  readonly #finished: Promise<void>;
  #pod: Pod;
  #init: ContainerRecord[];
  #main: ContainerRecord[];
  #volumes: ReadonlyMap<string, string> = new Map();
  #sandbox: Sandbox | undefined;
  #isOver = false;
  #isTerminal = false;
  #killAtMs = Number.POSITIVE_INFINITY;
  #killTimer: NodeJS.Timeout | undefined;
  #verdict: { readonly reason: string; readonly message: string } | undefined;
  #earlier: readonly Condition[];

  constructor(pod: Pod, node: WorkerNode) {
    this.#pod = pod;
    this.#node = node;
    this.#folder = new PodFolder(node.directory, pod);
    this.#sources = podSources(node.api, pod);
    this.#reporter = new StatusReporter(node.api, pod, this.#gone.signal);
    this.#startTime = pod.status?.startTime ?? this.#now();
    this.#earlier = pod.status?.conditions ?? [];
    const reason = pod.spec.initContainers?.length ? 'PodInitializing' : 'ContainerCreating';
    const waiting = (container: Container): ContainerRecord => ({
      container,
      state: { kind: 'waiting', reason },
      restarts: 0,
    });
    this.#init = (pod.spec.initContainers ?? []).map(waiting);
    this.#main = pod.spec.containers.map(waiting);
    this.#finished = this.#live();
    this.observe(pod);
  }

  get pod(): Pod {
    return this.#pod;
  }

  get folder(): PodFolder {
    return this.#folder;
  }

  /** True while the log of `container` may still grow. */
  isRunning(container: string): boolean {
    return this.#running.has(container);
  }

  /** Takes up a newer version of the pod's object; starts the deletion if the object asks for it. */
  observe(pod: Pod): void {
    this.#pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined) {
      const { deletionGracePeriodSeconds } = pod.metadata;
      this.#terminate(deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
      this.#onDeletion();
    }
  }

  /** The object is gone from the apiserver: ends the processes, and then the files. Resolves when all are gone. */
  async remove(): Promise<void> {
    this.#gone.abort();
    this.#terminate(REMOVED_GRACE_SECONDS);
    await this.#finished;
    this.#folder.removeAllButLogs();
  }

  /** Ends the processes at once and reports nothing, as a machine without power would. Resolves when they are gone. */
  async abandon(): Promise<void> {
    this.#gone.abort();
    this.#stopping.abort();
    clearTimeout(this.#killTimer);
    await this.#sandbox?.close();
    await this.#finished;
  }

  async #live(): Promise<void> {
    const phase = this.#pod.status?.phase;
    this.#isTerminal = phase === 'Succeeded' || phase === 'Failed';
    if (!this.#isTerminal) {
      await this.#run();
    }
    await this.#untilDeletable();
    if (!this.#gone.signal.aborted) {
      await this.#reporter.settled();
      await this.#reporter.deleteObject();
    }
  }

  async #run(): Promise<void> {
    const deadline = this.#watchDeadline();
    try {
      this.#takeUpEarlierLife();
      this.#report();
      if (this.#hasWork() && (await this.#prepare())) {
        await this.#runContainers();
      }
    } catch (error) {
      // A fault of this agent, not of the pod: say so where people look, and end the pod rather than hang.
      this.#verdict = {
        reason: 'LocalNodeFault',
        message: error instanceof Error ? (error.stack ?? '') : String(error),
      };
    }
    clearTimeout(deadline);
    clearTimeout(this.#killTimer);
    await this.#sandbox?.close();
    this.#sandbox = undefined;
    this.#folder.recordSandbox(undefined);
    this.#isOver = true;
    this.#settleUnstarted();
    this.#report();
  }

  #watchDeadline(): NodeJS.Timeout | undefined {
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    if (seconds === undefined) {
      return undefined;
    }
    const dueMs = Date.parse(this.#startTime) + seconds * 1000 - this.#node.now().getTime();
    return setTimeout(
      () => {
        const message = 'Pod was active on the node longer than the specified deadline';
        this.#verdict = { reason: 'DeadlineExceeded', message };
        this.#terminate(this.#pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
      },
      Math.max(0, dueMs),
    ).unref();
  }

  /** What an earlier agent, or this one before its node was lost, reported of the containers. */
  #takeUpEarlierLife(): void {
    const facts = { restarts: this.#pod.spec.restartPolicy !== 'Never', now: this.#now() };
    for (const [records, statuses] of [
      [this.#init, this.#pod.status?.initContainerStatuses],
      [this.#main, this.#pod.status?.containerStatuses],
    ] as const) {
      for (const [index, record] of records.entries()) {
        const before = statuses?.find(({ name }) => name === record.container.name);
        records[index] = afterEarlierLife(record, before, facts);
      }
    }
  }

  #hasWork(): boolean {
    const facts = { pod: this.#pod, init: this.#init, main: this.#main, isOver: false };
    return this.#main.some(({ state }) => state.kind === 'waiting') && podPhase(facts) !== 'Failed';
  }

  /** Makes volumes and sandbox. False when the pod is to stop before that has worked. */
  async #prepare(): Promise<boolean> {
    this.#folder.create();
    const made = await this.#retry(() => this.#makeVolumes());
    if (made === undefined) {
      return false;
    }
    void this.#keepFresh(made);
    this.#sandbox = new Sandbox();
    this.#folder.recordSandbox(this.#sandbox.pid);
    this.#report();
    return true;
  }

  async #makeVolumes(): Promise<readonly MadeVolume[] | undefined> {
    try {
      const request = {
        pod: this.#pod,
        place: this.#node.place,
        folder: this.#folder.volumes,
        sources: this.#sources,
        images: this.#node.images,
        now: this.#node.now(),
      };
      const made = await Promise.all((this.#pod.spec.volumes ?? []).map((volume) => makeVolume(volume, request)));
      this.#volumes = new Map(made.map(({ name, path }) => [name, path]));
      return made;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const reason = error instanceof VolumeNotReady ? 'MountVolume.SetUp failed' : 'the apiserver did not help';
      this.#node.event(this.#pod, { type: 'Warning', reason: 'FailedMount', message: `${reason}: ${message}` });
      return undefined;
    }
  }

  /** Replaces tokens before they expire, and the content of config maps and secrets when it changes. */
  async #keepFresh(made: readonly MadeVolume[]): Promise<void> {
    let dueMs = soonestMs(made);
    while (Number.isFinite(dueMs) && !this.#isOver) {
      if (!(await pause(Math.max(0, dueMs - this.#node.now().getTime()), this.#stopping.signal))) {
        return;
      }
      const again = await this.#makeVolumes();
      dueMs = again === undefined ? this.#node.now().getTime() + REFRESH_RETRY_MS : soonestMs(again);
    }
  }

  async #runContainers(): Promise<void> {
    const sidecars: Promise<void>[] = [];
    for (const [index, { container, state }] of this.#init.entries()) {
      if (state.kind === 'terminated' && state.exitCode === 0) {
        continue;
      }
      if (container.restartPolicy === 'Always') {
        const started = Promise.withResolvers<void>();
        sidecars.push(this.#keepRunning({ list: 'init', index, policy: 'Always', started: started.resolve }));
        await started.promise;
        continue;
      }
      const policy = this.#pod.spec.restartPolicy === 'Never' ? 'Never' : 'OnFailure';
      await this.#keepRunning({ list: 'init', index, policy });
      const after = this.#init[index]?.state;
      if (this.#stopping.signal.aborted || after?.kind !== 'terminated' || after.exitCode !== 0) {
        return;
      }
    }
    const policy = this.#pod.spec.restartPolicy ?? 'Always';
    const open = this.#main.flatMap(({ state }, index) => (state.kind === 'waiting' ? [index] : []));
    await Promise.all(open.map((index) => this.#keepRunning({ list: 'main', index, policy })));
    if (sidecars.length > 0) {
      this.#terminate(this.#pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
      await Promise.all(sidecars);
    }
  }

  /** Runs one container, again and again as its policy says. */
  async #keepRunning(slot: Slot & { readonly policy: string; readonly started?: () => void }): Promise<void> {
    for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(backoffMs * 2, LONGEST_BACKOFF_MS)) {
      await this.#runOnce(slot, slot.started);
      slot.started?.();
      const { state, restarts, container } = this.#record(slot);
      const isDone = state.kind === 'terminated' && state.exitCode === 0 && slot.policy !== 'Always';
      if (this.#stopping.signal.aborted || state.kind !== 'terminated' || isDone || slot.policy === 'Never') {
        return;
      }
      const message = `back-off ${backoffMs / 1000}s restarting failed container=${container.name}`;
      const waiting: ContainerState = { kind: 'waiting', reason: 'CrashLoopBackOff', message };
      this.#set(slot, { state: waiting, last: state, restarts });
      if (!(await pause(backoffMs, this.#stopping.signal))) {
        return;
      }
      this.#set(slot, { restarts: restarts + 1 });
    }
  }

  async #runOnce(slot: Slot, onStarted?: () => void): Promise<void> {
    const { container, restarts } = this.#record(slot);
    const image = await this.#retry(() => Promise.resolve(this.#findImage(slot)));
    const environment = image && (await this.#retry(() => this.#environment(slot, image)));
    if (image === undefined || environment === undefined || this.#sandbox === undefined) {
      return;
    }
    const logPath = this.#folder.logPath(container.name, restarts);
    const terminationFile = this.#folder.terminationFile(container.name, restarts);
    const run = runOf(container, {
      ...{ image, env: environment, logPath, terminationFile, volumes: this.#volumes },
      mountMode: this.#node.mountMode,
      makeRoot: () => this.#folder.rootOf(container.name),
    });
    if (run === undefined) {
      this.#set(slot, { state: { kind: 'waiting', reason: 'CreateContainerError', message: 'no command specified' } });
      await pause(LONGEST_BACKOFF_MS, this.#stopping.signal);
      return;
    }
    const id = `${container.name}/${restarts}`;
    const containerId = `local-node://${this.#pod.metadata.uid}/${id}`;
    const started = await this.#sandbox.start(id, run);
    const startedAt = this.#now();
    if (started.kind === 'failed') {
      const message = `failed to create task for container ${container.name}: ${started.message}`;
      const state = {
        kind: 'terminated',
        exitCode: 128,
        reason: 'StartError',
        message,
        startedAt: NEVER,
        finishedAt: startedAt,
      } as const;
      this.#node.event(this.#pod, { type: 'Warning', reason: 'Failed', message: `Error: ${message}` });
      this.#set(slot, { state, containerId });
      return;
    }
    this.#running.add(container.name);
    this.#set(slot, { state: { kind: 'running', startedAt }, containerId });
    this.#node.event(this.#pod, { type: 'Normal', reason: 'Started', message: `Started container ${container.name}` });
    onStarted?.();
    if (this.#stopping.signal.aborted) {
      this.#sandbox.signal(id, SIGTERM); // The order to stop came while it was being started.
      if (performance.now() >= this.#killAtMs) {
        this.#sandbox.kill(id);
      }
    }
    const exit = await started.exited;
    this.#running.delete(container.name);
    const message = terminationMessage({ container, exit, logPath, written: readFileSync(terminationFile) });
    const state = {
      kind: 'terminated',
      ...fieldsOfTermination(exit, message),
      startedAt,
      finishedAt: this.#now(),
    } as const;
    this.#set(slot, { state });
  }

  #findImage(slot: Slot): LocalImage | undefined {
    const { container, state } = this.#record(slot);
    const found = this.#node.images.find(container.image);
    if ('image' in found) {
      return found.image;
    }
    const waiting = withoutImage(state, container.image, found.problem);
    if (waiting.kind === 'waiting' && waiting.reason === 'ErrImagePull') {
      this.#node.event(this.#pod, {
        type: 'Warning',
        reason: 'Failed',
        message: `Failed to pull image "${container.image}": ${found.problem}`,
      });
    }
    this.#set(slot, { state: waiting });
    return undefined;
  }

  async #environment(slot: Slot, image: LocalImage): Promise<Readonly<Record<string, string>> | undefined> {
    const { container } = this.#record(slot);
    let environment: Environment;
    try {
      const references = await fetchReferences(container, this.#sources);
      const { place, clusterEnv } = this.#node;
      const base = baseEnvironment(this.#pod, image, clusterEnv);
      environment = containerEnvironment({ pod: this.#pod, container, place, references, base });
    } catch {
      return undefined; // The apiserver does not answer; the next try will tell.
    }
    if (environment.kind === 'impossible') {
      const { message } = environment;
      this.#set(slot, { state: { kind: 'waiting', reason: 'CreateContainerConfigError', message } });
      return undefined;
    }
    return environment.env;
  }

  /** SIGTERM now, SIGKILL after `graceSeconds`. A later call can only bring the end nearer. */
  #terminate(graceSeconds: number): void {
    const killAtMs = performance.now() + graceSeconds * 1000;
    if (!this.#stopping.signal.aborted) {
      this.#stopping.abort();
      for (const id of this.#runningIds()) {
        this.#sandbox?.signal(id, SIGTERM);
      }
    }
    if (killAtMs < this.#killAtMs && !this.#isOver) {
      this.#killAtMs = killAtMs;
      clearTimeout(this.#killTimer);
      this.#killTimer = setTimeout(
        () => this.#runningIds().forEach((id) => this.#sandbox?.kill(id)),
        graceSeconds * 1000,
      );
    }
  }

  #runningIds(): string[] {
    return [...this.#init, ...this.#main]
      .filter(({ container }) => this.#running.has(container.name))
      .map(({ container, restarts }) => `${container.name}/${restarts}`);
  }

  /** Whatever never ran will not run any more. A kubelet reports such containers of a deleted pod like this. */
  #settleUnstarted(): void {
    if (!this.#stopping.signal.aborted) {
      return;
    }
    const settle = (record: ContainerRecord): ContainerRecord => afterTheEnd(record, this.#now());
    this.#init = this.#init.map(settle);
    this.#main = this.#main.map(settle);
  }

  /** Resolves once the object may be deleted: deletion was asked for and nothing runs, or the object is gone. */
  #untilDeletable(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#gone.signal.aborted || this.#pod.metadata.deletionTimestamp !== undefined) {
        resolve();
      }
    };
    this.#gone.signal.addEventListener('abort', look);
    this.#onDeletion = look;
    look();
    return promise;
  }

  #onDeletion: () => void = () => undefined;

  #record(slot: Slot): ContainerRecord {
    const record = (slot.list === 'init' ? this.#init : this.#main)[slot.index];
    if (record === undefined) {
      throw new RangeError(`pod ${this.#pod.metadata.name} has no ${slot.list} container ${slot.index}`);
    }
    return record;
  }

  #set(slot: Slot, change: Partial<ContainerRecord>): void {
    const records = slot.list === 'init' ? this.#init : this.#main;
    records[slot.index] = { ...this.#record(slot), ...change };
    this.#report();
  }

  #report(): void {
    const status = podStatus({
      pod: this.#pod,
      address: this.#node.place.address,
      startTime: this.#startTime,
      hasSandbox: this.#sandbox !== undefined,
      init: this.#init,
      main: this.#main,
      isOver: this.#isOver,
      ...(this.#isOver && this.#verdict !== undefined ? { verdict: this.#verdict } : {}),
      now: this.#now(),
      earlier: this.#earlier,
    });
    this.#earlier = status.conditions ?? [];
    this.#reporter.report(status);
  }

  #retry<T>(attempt: () => Promise<T | undefined>): Promise<T | undefined> {
    return retry(attempt, this.#stopping.signal);
  }

  /** Kubernetes keeps whole seconds. */
  #now(): string {
    return this.#node
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
  }
}

interface Slot {
  readonly list: 'init' | 'main';
  readonly index: number;
}

function soonestMs(made: readonly MadeVolume[]): number {
  return Math.min(
    Number.POSITIVE_INFINITY,
    ...made.map(({ refreshAt }) => refreshAt?.getTime() ?? Number.POSITIVE_INFINITY),
  );
}
