import { type Attempt, type AttemptReason, memberCount } from '@coxswain/api-types';
import { type Facts, isTerminal, placementOf } from '../observation/facts.ts';
import { podsOf, uncreatedIndices } from '../observation/gang.ts';
import { fenceOf, pausedPods, unreapedPods } from '../observation/incarnation.ts';
import { isSilenceOfNode } from '../observation/hearing.ts';
import { HOW_TO_REACH, unheardPods } from '../observation/unheard-pods.ts';
import { awaitedFiles, missingSecret } from '../observation/missing-secrets.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { isBlameless as isBlamelessSentence, waitsForNoNode } from './blameless-causes.ts';
import { warningOf } from '../observation/silent-pods.ts';
import { hindranceOf } from '../observation/hindrance.ts';
import { isPulling } from '../observation/image-pulls.ts';
import { longestDelayMs } from './restart-budget.ts';
import { isOver, type Wait } from '../observation/waits.ts';

/** A step of an attempt's start, its time limit, and the pods that hold it up. */
interface Step {
  readonly reason: Extract<AttemptReason, 'NotCreated' | 'NotScheduled' | 'NotStarted' | 'NotReaped'>;
  readonly wait: Wait;
  /** Indices of the late pods; none if the whole gang waits for something else. */
  readonly late: readonly number[];
  /** Whether pods of others hold the GPUs that the late pods were placed on. */
  readonly isTaken?: boolean;
  /** Whether the late pods still have the scheduling gate. */
  readonly isGated?: boolean;
  /** Whether the late pods run, and their launchers have never reached the operator. */
  readonly isUnheard?: boolean;
}

/**
 * How long a pod that kube-scheduler refuses waits for GPUs that others hold on its node: as long as an ending pod takes. When the others
 * end is unknown, and meanwhile the rest of the gang holds its nodes.
 */
const TAKEN_MS = 10_000;

/** The current step of the attempt's start; undefined: every rank has run, or the attempt is stopping. */
export function stepUnderWay(facts: Facts, attempt: Attempt): Step | undefined {
  const { timeouts } = facts;
  const { epoch, stage } = attempt;
  if (stage === 'Creating') {
    const wait = { key: `e${epoch}/creating`, limitMs: timeouts.creatingMs };
    return { reason: 'NotCreated', wait, late: uncreatedIndices(facts, attempt) };
  }
  if (stage !== 'Released') return undefined;
  if (attempt.runningAt !== undefined) return firstReportStep(facts, attempt);
  const pods = podsOf(facts, epoch).filter((pod) => !isTerminal(pod));
  // If a standby took a place while the gang started, a pod that still pulls its image has no ranks to end.
  if ((attempt.incarnation ?? 1) > 1 && !pods.some(isPulling)) return stepInPods(facts, attempt);
  const unscheduled = pods.filter((pod) => pod.nodeName === undefined);
  if (unscheduled.length > 0) {
    // kube-scheduler has not considered them.
    const gated = unscheduled.filter((pod) => pod.gated);
    if (gated.length > 0) {
      const wait = { key: `e${epoch}/scheduling`, limitMs: timeouts.schedulingMs };
      return { reason: 'NotScheduled', wait, late: indicesOf(gated), isGated: true };
    }
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

/** Pods whose GPUs others hold, according to kube-scheduler and to the pods on their nodes. */
function takenPods(facts: Facts, epoch: number, unscheduled: readonly ObservedPod[]): readonly number[] {
  const refused = indicesOf(unscheduled.filter(({ schedulingMessage }) => schedulingMessage !== undefined));
  const placement = placementOf(facts, epoch)?.spec;
  if (placement === undefined || refused.length === 0) return [];
  const nodes = new Set(facts.observed.takenNodes?.(placement, refused));
  return refused.filter((podIndex) => nodes.has(placement.nodes[podIndex] ?? ''));
}

/** Time limit for pulling the attempt's image, in milliseconds. */
function pullLimitMs(facts: Facts, epoch: number): number {
  const seconds = placementOf(facts, epoch)?.spec.runtime?.imagePullDeadlineSeconds;
  return seconds === undefined ? facts.timeouts.pullingMs : seconds * 1000;
}

/**
 * The step in which running launchers wait for their ranks, which they get over their connection. Only the leader that began the attempt
 * can judge it: for a later leader, a launcher that trains and cannot connect is silent too, and one without ranks ends by itself (exit
 * code 76). A known step or save shows that every rank has begun.
 */
function firstReportStep(facts: Facts, attempt: Attempt): Step | undefined {
  const silent = unheardPods(facts, attempt);
  if (silent.length === 0) return undefined;
  const wait = { key: `e${attempt.epoch}/no-report`, limitMs: facts.timeouts.startingMs };
  return { reason: 'NotStarted', wait, late: indicesOf(silent), isUnheard: true };
}

/** The step of a restart in the same pods: the ranks of the last incarnation must end first. */
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

/** A pod that is late beyond its time limit. */
export interface Overdue {
  readonly reason: Step['reason'] | 'SecretMissing';
  readonly podIndex: number;
  /** Its node, if the node is to blame; undefined, for example, if most of the gang is late. */
  readonly node: string | undefined;
  readonly message: string;
}

/** Pods that are late, if the current step has exceeded its time limit. */
export function overduePods(facts: Facts, attempt: Attempt): readonly Overdue[] {
  const step = stepUnderWay(facts, attempt);
  if (step === undefined || !isOver(facts, step.wait)) return [];
  const pods = podsOf(facts, attempt.epoch);
  const { reason, wait, late } = step;
  const placement = placementOf(facts, attempt.epoch)?.spec;
  const nodes = placement?.nodes ?? [];
  const members = placement === undefined ? 0 : memberCount(placement);
  const seconds = wait.limitMs / 1000;
  if (late.length === 0) {
    const message = `Attempt ${attempt.epoch} did not get beyond ${attempt.stage} within ${seconds} s.`;
    return [{ reason, podIndex: 0, node: undefined, message }];
  }
  const isNodesFault = isFewOf(step, members) && hasWitness(step, facts, nodes);
  const hindrance = hindranceOf(facts, ['createPod', 'liftGate']);
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
    // If a gang has one node, a fault of the node looks the same as a missing Secret.
    const warning = warningOf(facts, pod);
    const isOfNoNode = pod !== undefined && waitsForNoNode(pod);
    const isBlameless = isOfNoNode || (warning !== undefined && isBlamelessSentence(warning));
    const isMissingFilePossible = files !== undefined && isSilent && members === 1;
    return {
      reason,
      podIndex,
      node: isNodesFault && !isMissingFilePossible && !isBlameless ? node : undefined,
      message: sentence(step, attempt, { pod, podIndex, node, files, hindrance, warning }),
    };
  });
}

/**
 * Whether few pods are late, so that their nodes may be at fault. If most of a gang is late, the cause is its image, its claim or the
 * cluster. Nodes whose GPUs others hold are not at fault either; that is counted at every placement.
 */
function isFewOf({ reason, late, isTaken = false, isGated = false }: Step, nodes: number): boolean {
  return reason !== 'NotCreated' && !isTaken && !isGated && (nodes === 1 || late.length * 2 <= nodes);
}

/** A gang of several nodes has its own launchers to compare with. If it has one node, other gangs have to show that the node is at fault. */
function hasWitness({ isUnheard = false }: Step, { job, observed }: Facts, nodes: readonly string[]): boolean {
  const [node, ...others] = nodes;
  if (!isUnheard || node === undefined || others.length > 0) return true;
  return isSilenceOfNode(observed.hearing?.(), { namespace: job.metadata.namespace ?? '', node });
}

function sentence(
  { reason, wait, isTaken = false, isGated = false }: Step,
  attempt: Attempt,
  about: {
    readonly pod: ObservedPod | undefined;
    readonly podIndex: number;
    readonly node: string | undefined;
    readonly files: string | undefined;
    readonly hindrance: string | undefined;
    readonly warning: string | undefined;
  },
): string {
  const { pod, podIndex, node = 'unknown', files, hindrance, warning } = about;
  const denied = hindrance === undefined ? '' : ` ${hindrance}`;
  const name = pod?.name ?? `of index ${podIndex}`;
  const seconds = wait.limitMs / 1000;
  switch (reason) {
    case 'NotCreated':
      return `Pod ${name} could not be created within ${seconds} s.${denied}`;
    case 'NotScheduled': {
      if (isGated) return `Pod ${name} still has its scheduling gate after ${seconds} s.${denied}`;
      const why = pod?.schedulingMessage ?? 'the scheduler gave no reason';
      const taken = isTaken ? `other pods took GPUs of node ${node} after the gang was placed. kube-scheduler: ` : '';
      return `Pod ${name} got no node within ${seconds} s: ${taken}${why}`;
    }
    case 'NotReaped':
      return `The launcher of pod ${name} on node ${node} did not report within ${seconds} s that its ranks have ended.`;
    case 'NotStarted': {
      if ((attempt.incarnation ?? 1) > 1) {
        return `The launcher of pod ${name} on node ${node} did not restart its ranks within ${seconds} s.`;
      }
      if (attempt.runningAt !== undefined) {
        return `The launcher of pod ${name} on node ${node} has not reached the operator within ${seconds} s, so its ranks have not begun. ${HOW_TO_REACH}`;
      }
      if (pod?.pullsImage === true) {
        return `The image of pod ${name} was not pulled on node ${node} within ${seconds} s. Raise spec.imagePullDeadlineSeconds of the runtime, or use nodes that have the image.`;
      }
      const waiting = pod?.containerWaiting;
      const silent = files === undefined ? '' : `; one cause is a missing ${files}, which the job mounts as a file`;
      const unknown = warning ?? `its node gave no reason${silent}`;
      const why = waiting === undefined ? unknown : `${waiting.reason}: ${waiting.message}`;
      return `Pod ${name} did not start on node ${node} within ${seconds} s: ${why}`;
    }
  }
}

function indicesOf(pods: readonly ObservedPod[]): readonly number[] {
  return pods.map(({ podIndex }) => podIndex);
}
