/** What does a session of a launcher's connection need of the cluster, and of what all sessions share? */
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
export type Pace = Omit<Extract<OperatorMessage, { kind: 'pace' }>, 'kind'>;

/** A pod of a gang, as the cluster knows it. */
export interface ReportingPod {
  readonly namespace: string;
  readonly jobName: string;
  readonly jobUid: string;
  readonly epoch: number;
  readonly podIndex: number;
  /** Global, ascending. */
  readonly ranks: readonly number[];
  /** Steps of the whole job, where it says so. */
  readonly totalSteps?: number;
}

/** A saved checkpoint, and the incarnation of the ranks that saved it. */
export type SavedByRanks = SavedCheckpoint & { readonly incarnation: number };

/** What a session needs to know of the cluster, and to have done there. */
export interface ReportPorts {
  /** Whether this replica leads; if not, where the leader is. */
  leadership():
    { readonly leading: true; readonly term: number } | { readonly leading: false; readonly leaderUrl?: string };
  /** The pod of that identity; unknown: it is no gang's pod, or not of that UID. unavailable: it cannot be told at the moment. */
  findPod(pod: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  }): Promise<ReportingPod | 'unknown' | 'unavailable'>;
  /** Whether that pod is seen here to be of a gang, whoever leads; nobody but the cache is asked. */
  isKnownPod(pod: Parameters<ReportPorts['findPod']>[0]): Promise<boolean>;
  /** Newest epoch of the job; undefined when the job is gone. */
  currentEpoch(jobUid: string): number | undefined;
  /** Whether that epoch is recorded to have failed with a gang that is not whole, or to be over: nothing of it is to be saved or believed any more. */
  isFenced(gang: { readonly jobUid: string; readonly epoch: number }): boolean;
  /** Incarnation of the job's newest epoch that counts, as far as it is seen here. */
  currentIncarnation(jobUid: string): number;
  /**
   * Writes the Checkpoint resource. stale: the epoch has failed, or a later one exists. unwanted: the job keeps no checkpoints, the step is
   * beyond its last, or ranks of another incarnation saved it. Throws when it cannot be told, or comes too soon.
   */
  recordCheckpoint(pod: ReportingPod, saved: SavedByRanks): Promise<'recorded' | 'stale' | 'unwanted'>;
  /** Something was reported that the job's status may want to show. */
  onNews(pod: ReportingPod, news: 'progress' | 'ended'): void;
}

/** What a pod has told of itself before its first rank. */
export interface PodPreflightReport {
  readonly jobUid: string;
  readonly epoch: number;
  readonly podIndex: number;
  readonly podUid: string;
  readonly report: PreflightReport;
}

/** What a rank of a pod really trains, as its hook saw it. */
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
  /** The launcher of that pod, of the epoch under way, has said something. */
  readonly recordContact: (pod: { readonly jobUid: string; readonly epoch: number; readonly podUid: string }) => void;
  /** The launcher has said what its ranks do: something new, or for the first time on this connection. */
  readonly recordLauncher: (report: LauncherReport) => void;
  /** A pod has told what it is, before its first rank. */
  readonly recordPreflight: (report: PodPreflightReport) => void;
  /** A launcher that was asked has told in the middle of what its ranks are. */
  readonly recordStacks: (
    pod: { readonly jobUid: string; readonly epoch: number; readonly podIndex: number },
    stacks: PodStacks,
  ) => void;
  /** A pod has told what its ranks really train. */
  readonly recordTrained: (report: PodTrainedReport) => void;
  readonly health: Pick<HealthWatch, 'heartbeat' | 'step'>;
  readonly series: SeriesRing;
  readonly deduplicator: MessageDeduplicator;
  readonly now: () => Date;
  readonly sleep: (delayMs: number) => Promise<void>;
  readonly count: (what: SessionCount, by?: number) => void;
}

/** What a server counts of its sessions; a closed set, so that metrics stay few. */
export type SessionCount =
  `refused_${Refusal['code']}` | 'malformed' | 'message' | 'duplicate' | 'slowed' | 'step' | 'step_missed';

/** The connection under a session. */
export interface SessionLink {
  send(message: OperatorMessage): void;
  /** Ends the connection after what was sent. */
  close(): void;
}

/** What a session is told of its connection, and tells of itself. */
export interface SessionConnection {
  readonly link: SessionLink;
  readonly token: string | undefined;
  /** What its share of all steps is as it comes. */
  readonly pace?: Pace;
  /** The leader that the other end has lost or cannot reach, as it says. */
  readonly unreachable?: string | undefined;
  /** The other end has said who it is; that is looked up now. */
  readonly onHello?: () => void;
  /** It is who it says, and a pod of a gang: its place is no longer one of a stranger's. */
  readonly onIdentified?: () => void;
}
