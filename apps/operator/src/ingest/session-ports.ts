/** What does the session of a launcher's connection need from the cluster and from state that all sessions share? */
import type { OperatorMessage, PodStacks, PreflightReport, SavedCheckpoint, TrainedFacts } from '@coxswain/api-types';
import type { Authenticator } from './authenticator.ts';
import type { HealthWatch } from './health-watch.ts';
import type { LauncherReport } from './launcher-reports.ts';
import type { MessageDeduplicator } from './message-deduplicator.ts';
import type { ProgressTracker } from './progress-tracker.ts';
import type { Rendezvous } from './rendezvous.ts';
import type { SeriesRing } from './series-ring.ts';
import type { WaitingLaunchers } from './waiting-launchers.ts';

type Refusal = Extract<OperatorMessage, { kind: 'refused' }>;
/** How fast a launcher may send steps. */
export type Pace = Omit<Extract<OperatorMessage, { kind: 'pace' }>, 'kind'>;

/** A pod of a gang, as recorded in the cluster. */
export interface ReportingPod {
  readonly namespace: string;
  readonly jobName: string;
  readonly jobUid: string;
  readonly epoch: number;
  readonly podIndex: number;
  /** Global, ascending. */
  readonly ranks: readonly number[];
  /** The incarnation in which the pod holds these ranks; in another one it may hold others. Absent: it always holds them. */
  readonly ranksSince?: number;
  /** A standby holds the ranks that the pod held. */
  readonly isReplaced?: true;
  /** Steps of the whole job, if it is limited. */
  readonly totalSteps?: number;
}

/** A saved checkpoint, and the incarnation of the ranks that saved it. */
export type SavedByRanks = SavedCheckpoint & { readonly incarnation: number };

/** What a session reads from the cluster and writes to it. */
export interface ReportPorts {
  /** Whether this replica leads; otherwise the URL of the leader. */
  leadership():
    { readonly leading: true; readonly term: number } | { readonly leading: false; readonly leaderUrl?: string };
  /** The pod of that identity. unknown: not a pod of a gang, or another UID. unavailable: the lookup failed; retry. */
  findPod(pod: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  }): Promise<ReportingPod | 'unknown' | 'unavailable'>;
  /** Whether the cache shows that pod as one of a gang, also on a follower. */
  isKnownPod(pod: Parameters<ReportPorts['findPod']>[0]): Promise<boolean>;
  /** Number of the job's newest attempt; undefined if the job does not exist. */
  currentEpoch(jobUid: string): number | undefined;
  /** Whether that attempt is recorded as failed or over; its checkpoints and reports no longer count. */
  isFenced(gang: { readonly jobUid: string; readonly epoch: number }): boolean;
  /** Current incarnation of the job's newest epoch, as far as this replica knows. */
  currentIncarnation(jobUid: string): number;
  /**
   * Creates the Checkpoint resource. stale: the attempt has failed, or a later one exists. unwanted: the job keeps no checkpoints, the step is
   * beyond its last, or ranks of another incarnation saved it. Throws if the result is unknown, or if checkpoints come too fast.
   */
  recordCheckpoint(pod: ReportingPod, saved: SavedByRanks): Promise<'recorded' | 'stale' | 'unwanted'>;
  /** Called for reports that may change the job's status. */
  onNews(pod: ReportingPod, news: 'progress' | 'ended'): void;
}

/** The preflight report of a pod. */
export interface PodPreflightReport {
  readonly jobUid: string;
  readonly epoch: number;
  readonly podIndex: number;
  readonly podUid: string;
  readonly report: PreflightReport;
}

/** What a rank trains, as its hook observed it. */
export interface PodTrainedReport {
  readonly jobUid: string;
  readonly epoch: number;
  readonly incarnation: number;
  readonly podIndex: number;
  readonly rank: number;
  readonly facts: TrainedFacts;
}

/** What all sessions of a server share. */
export interface SessionContext {
  readonly ports: ReportPorts;
  readonly authenticator: Authenticator;
  readonly rendezvous: Rendezvous;
  readonly waiting: WaitingLaunchers;
  readonly progress: ProgressTracker;
  /** Records that the launcher of that pod, of the current epoch, sent a message. */
  readonly recordContact: (pod: { readonly jobUid: string; readonly epoch: number; readonly podUid: string }) => void;
  /** Records the state of the launcher's ranks if it is new, or the first on this connection. */
  readonly recordLauncher: (report: LauncherReport) => void;
  /** Records the preflight report of a pod. */
  readonly recordPreflight: (report: PodPreflightReport) => void;
  /** Records the stack traces that a launcher sent on request. */
  readonly recordStacks: (
    pod: { readonly jobUid: string; readonly epoch: number; readonly podIndex: number },
    stacks: PodStacks,
  ) => void;
  /** Records what a rank trains. */
  readonly recordTrained: (report: PodTrainedReport) => void;
  readonly health: Pick<HealthWatch, 'heartbeat' | 'step' | 'finished'>;
  readonly series: SeriesRing;
  readonly deduplicator: MessageDeduplicator;
  readonly now: () => Date;
  readonly sleep: (delayMs: number) => Promise<void>;
  readonly count: (what: SessionCount, by?: number) => void;
}

/** Counters of sessions; a closed set, to keep the number of metrics small. */
export type SessionCount =
  `refused_${Refusal['code']}` | 'malformed' | 'message' | 'duplicate' | 'slowed' | 'step' | 'step_missed';

/** The connection under a session. */
export interface SessionLink {
  send(message: OperatorMessage): void;
  /** Ends the connection after pending messages were sent. */
  close(): void;
}

/** The connection of a session, and callbacks about its identity. */
export interface SessionConnection {
  readonly link: SessionLink;
  readonly token: string | undefined;
  /** The launcher's initial share of all steps. */
  readonly pace?: Pace;
  /** URL of the leader that the launcher reports as unreachable. */
  readonly unreachable?: string | undefined;
  /** Called when the launcher sent hello and its identity is being checked. */
  readonly onHello?: () => void;
  /** Called when the identity is confirmed; the connection then leaves the places of unidentified connections. */
  readonly onIdentified?: () => void;
}
