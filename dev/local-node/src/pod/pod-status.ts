import type {
  Condition,
  Container,
  ContainerStatus,
  Pod,
  PodPhase,
  PodStatus,
  StatusState,
} from '../kube/kube-types.ts';

/** What is true of one container now; instants are RFC 3339 texts. */
export type ContainerState =
  | { readonly kind: 'waiting'; readonly reason: string; readonly message?: string }
  | { readonly kind: 'running'; readonly startedAt: string }
  | {
      readonly kind: 'terminated';
      readonly exitCode: number;
      readonly reason: string;
      readonly message?: string;
      readonly startedAt: string;
      readonly finishedAt: string;
    };

/** A container with its past. */
export interface ContainerRecord {
  readonly container: Container;
  readonly state: ContainerState;
  readonly last?: Extract<ContainerState, { kind: 'terminated' }>;
  readonly restarts: number;
  readonly containerId?: string;
}

/** Everything that the status of a pod is derived from. */
export interface PodFacts {
  readonly pod: Pod;
  readonly address: string;
  readonly startTime: string;
  readonly hasSandbox: boolean;
  readonly init: readonly ContainerRecord[];
  readonly main: readonly ContainerRecord[];
  /** Set once nothing of the pod will ever run again. */
  readonly isOver: boolean;
  /** Pod-level verdict that outweighs the containers, such as DeadlineExceeded. */
  readonly verdict?: { readonly reason: string; readonly message: string };
  readonly now: string;
  /** Conditions as last reported; a transition time moves only with its status. */
  readonly earlier: readonly Condition[];
}

/** The status as a kubelet would report it. Conditions that other components own are not in it. */
export function podStatus(facts: PodFacts): PodStatus & { readonly hostIPs: unknown; readonly podIPs?: unknown } {
  const phase = podPhase(facts);
  const hasAddress = facts.hasSandbox || facts.isOver;
  return {
    phase,
    ...(facts.verdict ?? {}),
    conditions: conditions(facts, phase),
    hostIP: facts.address,
    hostIPs: [{ ip: facts.address }],
    ...(hasAddress ? { podIP: facts.address, podIPs: [{ ip: facts.address }] } : {}),
    startTime: facts.startTime,
    ...(facts.init.length === 0 ? {} : { initContainerStatuses: facts.init.map((record) => toStatus(record, true)) }),
    containerStatuses: facts.main.map((record) => toStatus(record, false)),
  };
}

/** Source: the phases in the documentation of the pod lifecycle, and what kubelets do for each restart policy. */
export function podPhase(facts: Pick<PodFacts, 'pod' | 'init' | 'main' | 'isOver' | 'verdict'>): PodPhase {
  const policy = facts.pod.spec.restartPolicy ?? 'Always';
  const steps = facts.init.filter(({ container }) => container.restartPolicy !== 'Always');
  if (facts.verdict !== undefined) {
    return 'Failed';
  }
  if (facts.isOver) {
    return facts.main.every(succeeded) && steps.every(succeeded) ? 'Succeeded' : 'Failed';
  }
  if (policy === 'Never' && steps.some(failed)) {
    return 'Failed';
  }
  if (!steps.every(succeeded)) {
    return 'Pending';
  }
  if (facts.main.some(({ state, last }) => state.kind === 'waiting' && last === undefined)) {
    return 'Pending';
  }
  if (facts.main.some(({ state }) => state.kind !== 'terminated') || policy === 'Always') {
    return 'Running';
  }
  if (facts.main.every(succeeded)) {
    return 'Succeeded';
  }
  return policy === 'Never' ? 'Failed' : 'Running';
}

function succeeded({ state }: ContainerRecord): boolean {
  return state.kind === 'terminated' && state.exitCode === 0;
}

function failed({ state }: ContainerRecord): boolean {
  return state.kind === 'terminated' && state.exitCode !== 0;
}

type Claim = Omit<Condition, 'lastTransitionTime'>;

function conditions(facts: PodFacts, phase: PodPhase): Condition[] {
  const isTerminal = phase === 'Succeeded' || phase === 'Failed';
  const claims: readonly Claim[] = [
    { type: 'PodReadyToStartContainers', status: facts.hasSandbox && !isTerminal ? 'True' : 'False' },
    initialized(facts, phase),
    readiness('Ready', facts, phase),
    readiness('ContainersReady', facts, phase),
  ];
  return claims.map((claim) => {
    const before = facts.earlier.find(({ type }) => type === claim.type);
    const unmoved = before?.status === claim.status && typeof before.lastTransitionTime === 'string';
    return { ...claim, lastTransitionTime: unmoved ? (before.lastTransitionTime ?? facts.now) : facts.now };
  });
}

function initialized(facts: PodFacts, phase: PodPhase): Claim {
  const type = 'Initialized';
  const incomplete = facts.init.filter((record) => !isInitialized(record)).map(({ container }) => container.name);
  if (phase === 'Succeeded') {
    return { type, status: 'True', reason: 'PodCompleted' };
  }
  if (incomplete.length === 0) {
    return { type, status: 'True' };
  }
  const message = `containers with incomplete status: [${incomplete.join(' ')}]`;
  return { type, status: 'False', reason: 'ContainersNotInitialized', message };
}

function isInitialized(record: ContainerRecord): boolean {
  return record.container.restartPolicy === 'Always' ? record.state.kind !== 'waiting' : succeeded(record);
}

function readiness(type: string, facts: PodFacts, phase: PodPhase): Claim {
  if (phase === 'Succeeded') {
    return { type, status: 'False', reason: 'PodCompleted' };
  }
  if (phase === 'Failed') {
    return { type, status: 'False', reason: 'PodFailed' };
  }
  const unready = facts.main.filter(({ state }) => state.kind !== 'running').map(({ container }) => container.name);
  if (unready.length === 0) {
    return { type, status: 'True' };
  }
  const message = `containers with unready status: [${unready.join(' ')}]`;
  return { type, status: 'False', reason: 'ContainersNotReady', message };
}

function toStatus(record: ContainerRecord, isInit: boolean): ContainerStatus {
  const { container, state } = record;
  const isRunning = state.kind === 'running';
  const isSidecar = container.restartPolicy === 'Always';
  return {
    name: container.name,
    image: container.image,
    imageID: record.containerId === undefined ? '' : `local-node://${container.image}`,
    ...(record.containerId === undefined ? {} : { containerID: record.containerId }),
    ready: isInit && !isSidecar ? succeeded(record) : isRunning,
    started: isRunning && (!isInit || isSidecar),
    restartCount: record.restarts,
    state: toState(state, record.containerId),
    ...(record.last === undefined ? { lastState: {} } : { lastState: toState(record.last, undefined) }),
  };
}

function toState(state: ContainerState, containerId: string | undefined): StatusState {
  switch (state.kind) {
    case 'waiting':
      return { waiting: { reason: state.reason, ...(state.message === undefined ? {} : { message: state.message }) } };
    case 'running':
      return { running: { startedAt: state.startedAt } };
    case 'terminated': {
      const { kind: _, ...rest } = state;
      return { terminated: { ...rest, ...(containerId === undefined ? {} : { containerID: containerId }) } };
    }
  }
}
