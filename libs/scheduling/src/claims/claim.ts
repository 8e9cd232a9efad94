/** A claim: what a job that waits asks of running gangs of lower priority. Users read "makes room". */
import type { WayOut } from '@coxswain/api-types';
import type { FabricCapacity, findNodes } from '@coxswain/fabric';
import type { GangRequest, JobName } from '../gang-request.ts';
import type { GpusByNode } from '../promises/node-promise.ts';
import type { ClaimRules } from './claim-rules.ts';
import type { StandingClaim } from './standing-claims.ts';

/** A gang that runs, as the choice of victims sees it. */
export interface RunningGang {
  readonly job: JobName;
  readonly epoch: number;
  readonly priority: number;
  readonly gpus: GpusByNode;
  readonly startedAt: Date;
  /** It was asked to stop already, for any reason. */
  readonly isStopping: boolean;
  /** `spec.terminationGracePeriodSeconds`. */
  readonly graceSeconds: number;
  /** Its ranks save on request and train on. */
  readonly savesWhenAsked: boolean;
  /** Training since its newest checkpoint, which is lost if it stops without a save. */
  readonly unsavedSeconds: number;
  /** How long a save stops training. */
  readonly stallSeconds: number;
  /** From a placement to the first step. */
  readonly restartSeconds: number;
  /** Priorities of the jobs for which it made room in the last day. */
  readonly madeRoomFor: readonly number[];
  /** UID of the job for which it made room last. Absent: it made room for none. */
  readonly lastMadeRoomFor?: string;
  /** Its next save of its own, and the step of its newest one; absent: not known. */
  readonly nextSave?: NextSave;
  /** It is to stop after {@link nextSave}. Absent: it waits for none. */
  readonly waitsForSave?: NextSave;
  /** What it asks for if it is placed elsewhere. */
  readonly request: GangRequest;
  /** Smaller sizes that the job accepts, the largest first; empty: it is not elastic. */
  readonly smaller: readonly SmallerSize[];
}

/** The next save of a gang that saves by its own count of steps. */
interface NextSave {
  readonly seconds: number;
  readonly afterStep: number;
}

/** A size of an elastic job. */
export interface SmallerSize {
  readonly gpus: number;
  readonly request: GangRequest;
}

/** The job that waits. */
export interface Claimant {
  readonly job: JobName;
  readonly priority: number;
  readonly request: GangRequest;
  /** When it is expected to start if no gang makes room; undefined: no nodes are held for it, because it is not first in line. */
  readonly startWithout: Date | undefined;
}

/** Which gangs make room for that job? */
export interface ClaimQuestion {
  readonly claimant: Claimant;
  readonly gangs: readonly RunningGang[];
  /** Nodes that suit the claimant. */
  readonly fabric: Omit<FabricCapacity, 'usedGpus'>;
  /** GPUs of running gangs, other pods, reservations and standing claims, by node. */
  readonly usedGpus: GpusByNode;
  /** Adds GPUs that are held for jobs ahead of the job of that UID, and nodes in windows. Absent: there are none. */
  readonly withHeld?: (used: GpusByNode, jobUid: string) => GpusByNode;
  readonly standing: readonly StandingClaim[];
  readonly now: Date;
  readonly rules: ClaimRules;
}

/** A gang that makes room. Status names it by its UID alone where readers may not see its namespace. */
export interface ChosenVictim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly epoch: number;
  readonly wayOut: WayOut;
  /** For `Shrink`: the number of GPUs on which it is expected to continue. */
  readonly toGpus?: number;
  readonly priceGpuSeconds: number;
  /** Training of each of its GPUs that is expected to be lost. */
  readonly lostSeconds: number;
  readonly savesWhenAsked: boolean;
  /** It stops after the next save of its own. Absent: it waits for none. */
  readonly waitsForSave?: NextSave;
  /** From the request to stop until its pods are killed. */
  readonly deadlineSeconds: number;
}

/** Nodes of a gang. */
export type FoundNodes = NonNullable<ReturnType<typeof findNodes>>;

/** Who makes room, or why no gang does. */
export type ClaimChoice =
  | {
      readonly kind: 'claim';
      readonly placement: Pick<FoundNodes, 'nodes' | 'ranksPerPod'>;
      readonly victims: readonly ChosenVictim[];
      /** What the claimant gains: its GPUs times the time by which it starts earlier. */
      readonly gainGpuSeconds: number;
      readonly expiresAfterSeconds: number;
    }
  | { readonly kind: 'none'; readonly reason: string };
