import type { Attempt, AttemptReason } from '@coxswain/api-types';
import { doesAnswer, type Facts, isTerminal, nodeStateOf, placementOf } from '../observation/facts.ts';
import { missingIndices, podsOf } from '../observation/gang.ts';
import { fenceOf, pausedPods, unreapedPods } from '../observation/incarnation.ts';
import { awaitedFiles, missingSecret } from '../observation/missing-secrets.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { isPulling } from '../observation/image-pulls.ts';
import { longestDelayMs } from './restart-budget.ts';
import { isOver, type Wait } from '../observation/waits.ts';

/** What an attempt waits for at most so long before every rank runs, and which pods hold it up. */
interface Step {
  readonly reason: Extract<AttemptReason, 'NotCreated' | 'NotScheduled' | 'NotStarted' | 'NotReaped'>;
  readonly wait: Wait;
  /** Indices of the pods that are waited for; none where a whole gang waits for something else. */
  readonly late: readonly number[];
  /** Others' pods hold GPUs of the nodes that they were placed on. */
  readonly isTaken?: boolean;
}

/**
 * How long a pod that the scheduler has refused waits for GPUs that others are seen to hold on its node: as long as a pod takes that is ending. Nobody
 * says when the others end, and the rest of the gang holds its nodes meanwhile.
 */
const TAKEN_MS = 10_000;

/** The step at which the attempt is; undefined when every rank is known to have run, or it is stopping. */
export function stepUnderWay(facts: Facts, attempt: Attempt): Step | undefined {
  const { timeouts } = facts;
  const { epoch, stage } = attempt;
  if (stage === 'Creating') {
    const wait = { key: `e${epoch}/creating`, limitMs: timeouts.creatingMs };
    return { reason: 'NotCreated', wait, late: missingIndices(facts, attempt) };
  }
  if (stage !== 'Released') return undefined;
  if (attempt.runningAt !== undefined) return firstWord(facts, attempt);
  if ((attempt.incarnation ?? 1) > 1) return stepInPods(facts, attempt);
  const pods = podsOf(facts, epoch).filter((pod) => !isTerminal(pod));
  const unscheduled = pods.filter((pod) => pod.nodeName === undefined);
  if (unscheduled.length > 0) {
    const taken = takenPods(facts, epoch, unscheduled);
    if (taken.length > 0) {
      const wait = { key: `e${epoch}/taken`, limitMs: Math.min(TAKEN_MS, timeouts.schedulingMs) };
      return { reason: 'NotScheduled', wait, late: taken, isTaken: true };
    }
    const wait = { key: `e${epoch}/scheduling`, limitMs: timeouts.schedulingMs };
    return { reason: 'NotScheduled', wait, late: indicesOf(unscheduled) };
  }
  const pulling = pods.filter(isPulling);
  if (pulling.length > 0) {
    const wait = { key: `e${epoch}/pulling`, limitMs: pullLimitMs(facts, epoch) };
    return { reason: 'NotStarted', wait, late: indicesOf(pulling) };
  }
  const wait = { key: `e${epoch}/starting`, limitMs: timeouts.startingMs };
  return { reason: 'NotStarted', wait, late: indicesOf(pods.filter((pod) => !pod.running)) };
}

/** Those for whose GPUs it is too late, by the scheduler's word and by what is seen on their nodes. */
function takenPods(facts: Facts, epoch: number, unscheduled: readonly ObservedPod[]): readonly number[] {
  const refused = indicesOf(unscheduled.filter(({ schedulingMessage }) => schedulingMessage !== undefined));
  const placement = placementOf(facts, epoch)?.spec;
  if (placement === undefined || refused.length === 0) return [];
  const nodes = new Set(facts.observed.takenNodes?.(placement, refused));
  return refused.filter((podIndex) => nodes.has(placement.nodes[podIndex] ?? ''));
}

/** How long the epoch's image may take to be pulled. */
function pullLimitMs(facts: Facts, epoch: number): number {
  const seconds = placementOf(facts, epoch)?.spec.runtime?.imagePullDeadlineSeconds;
  return seconds === undefined ? facts.timeouts.pullingMs : seconds * 1000;
}

/**
 * Containers run, and launchers are given their ranks over their connection: whoever has never reached an operator has none. Only the leader that
 * began the attempt can know that: to a later one a launcher is silent too that trains and cannot reach it, and one without ranks ends by itself
 * (exit code 76). Where a step or a save is known, every rank has begun.
 */
function firstWord(facts: Facts, attempt: Attempt): Step | undefined {
  const { heardMs, leaderTerm } = facts.observed;
  const isFromTheBegin = leaderTerm !== undefined && attempt.leaderTerm === leaderTerm;
  if (heardMs === undefined || !isFromTheBegin) return undefined;
  if ((attempt.incarnation ?? 1) > 1 || hasTrained(facts, attempt)) return undefined;
  // Nodes that do not answer have waits of their own.
  const unheard = podsOf(facts, attempt.epoch).filter(
    (pod) => pod.running && !isTerminal(pod) && doesAnswer(nodeStateOf(facts, pod.nodeName)) && !heardMs.has(pod.uid),
  );
  if (unheard.length === 0) return undefined;
  const wait = { key: `e${attempt.epoch}/unheard`, limitMs: facts.timeouts.startingMs };
  return { reason: 'NotStarted', wait, late: indicesOf(unheard) };
}

/** Status forgets progress with the epoch that made it. */
function hasTrained({ job, observed, checkpoints }: Facts, { epoch }: Attempt): boolean {
  const isReported = observed.progress?.epoch === epoch || job.status?.progress !== undefined;
  return isReported || checkpoints.some(({ spec }) => spec.epoch === epoch);
}

/** The ranks are started again in their pods: those of the last incarnation have to be gone first. */
function stepInPods(facts: Facts, attempt: Attempt): Step {
  const { epoch, incarnation } = fenceOf(attempt);
  const { reapingMs, startingMs } = facts.timeouts;
  const fence = `e${epoch}i${incarnation}`;
  const unreaped = unreapedPods(facts, attempt);
  if (unreaped.length > 0) {
    return { reason: 'NotReaped', wait: { key: `${fence}/reaping`, limitMs: reapingMs }, late: indicesOf(unreaped) };
  }
  // The pause before them is part of it.
  const wait = { key: `${fence}/starting`, limitMs: startingMs + longestDelayMs(facts.restartPolicy) };
  return { reason: 'NotStarted', wait, late: indicesOf(pausedPods(facts, attempt)) };
}

/** A pod that the attempt has waited for too long. */
export interface Overdue {
  readonly reason: Step['reason'] | 'SecretMissing';
  readonly podIndex: number;
  /** Its node, where the node is to blame: not where most of the gang waits. */
  readonly node: string | undefined;
  readonly message: string;
}

/** Pods that were waited for too long, if the step has taken too long. */
export function overduePods(facts: Facts, attempt: Attempt): readonly Overdue[] {
  const step = stepUnderWay(facts, attempt);
  if (step === undefined || !isOver(facts, step.wait)) return [];
  const pods = podsOf(facts, attempt.epoch);
  const { reason, wait, late } = step;
  const nodes = placementOf(facts, attempt.epoch)?.spec.nodes ?? [];
  const seconds = wait.limitMs / 1000;
  if (late.length === 0) {
    const message = `Epoch ${attempt.epoch} did not get beyond ${attempt.stage} within ${seconds} s.`;
    return [{ reason, podIndex: 0, node: undefined, message }];
  }
  const isNodesFault = isFewOf(step, nodes.length);
  return late.map((podIndex) => {
    const pod = pods.find((one) => one.podIndex === podIndex);
    const node = pod?.nodeName ?? nodes[podIndex];
    const waiting = reason === 'NotStarted' ? pod?.containerWaiting : undefined;
    const missing = waiting === undefined ? undefined : missingSecret(facts, waiting);
    if (missing !== undefined) {
      const message = `Pod ${pod?.name} did not start on node ${node ?? 'unknown'} within ${seconds} s: ${missing}.`;
      return { reason: 'SecretMissing', podIndex, node: undefined, message };
    }
    const files = awaitedFiles(facts);
    const isSilent = reason === 'NotStarted' && pod?.running === false && waiting === undefined;
    // The fault of the only node of a gang cannot be told from a Secret that is nowhere.
    const isForFiles = files !== undefined && isSilent && nodes.length === 1;
    return {
      reason,
      podIndex,
      node: isNodesFault && !isForFiles ? node : undefined,
      message: sentence(step, attempt, { pod, podIndex, node, files }),
    };
  });
}

/**
 * What holds up most of a gang is its image, its claim or the cluster: avoiding all these nodes would help nobody. Nor would it to avoid nodes for what
 * others hold there, which is counted whenever a gang is placed.
 */
function isFewOf({ reason, late, isTaken = false }: Step, nodes: number): boolean {
  return reason !== 'NotCreated' && !isTaken && (nodes === 1 || late.length * 2 <= nodes);
}

function sentence(
  { reason, wait, isTaken = false }: Step,
  attempt: Attempt,
  about: {
    readonly pod: ObservedPod | undefined;
    readonly podIndex: number;
    readonly node: string | undefined;
    readonly files: string | undefined;
  },
): string {
  const { pod, podIndex, node = 'unknown', files } = about;
  const name = pod?.name ?? `of index ${podIndex}`;
  const seconds = wait.limitMs / 1000;
  switch (reason) {
    case 'NotCreated':
      return `Pod ${name} could not be created within ${seconds} s.`;
    case 'NotScheduled': {
      const why = pod?.schedulingMessage ?? 'the scheduler gave no reason';
      const taken = isTaken ? `others took GPUs of node ${node} after the gang was placed. The scheduler: ` : '';
      return `Pod ${name} got no node within ${seconds} s: ${taken}${why}`;
    }
    case 'NotReaped':
      return `The launcher of pod ${name} on node ${node} did not say within ${seconds} s that its ranks have ended.`;
    case 'NotStarted': {
      if ((attempt.incarnation ?? 1) > 1) {
        return `The launcher of pod ${name} on node ${node} did not start its ranks again within ${seconds} s.`;
      }
      if (attempt.runningAt !== undefined) {
        return `The launcher of pod ${name} on node ${node} has not reached the operator within ${seconds} s, so its ranks have not begun.`;
      }
      if (pod?.pullsImage === true) {
        return `The image of pod ${name} was not pulled on node ${node} within ${seconds} s; a runtime may allow more (spec.imagePullDeadlineSeconds), and a node that has it already needs none.`;
      }
      const waiting = pod?.containerWaiting;
      const silent = files === undefined ? '' : `, as where ${files} is missing, which the job wants as a file`;
      const why = waiting === undefined ? `its node gave no reason${silent}` : `${waiting.reason}: ${waiting.message}`;
      return `Pod ${name} did not start on node ${node} within ${seconds} s: ${why}`;
    }
  }
}

function indicesOf(pods: readonly ObservedPod[]): readonly number[] {
  return pods.map(({ podIndex }) => podIndex);
}
