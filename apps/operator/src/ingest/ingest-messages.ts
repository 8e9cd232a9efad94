import type { OperatorMessage } from '@coxswain/api-types';
import type { KeptLogsReply, KeptLogsRequest } from '../kept-logs/kept-logs-readers.ts';
import type { KeyPair } from './authority.ts';
import type { GangRoster, HealthReport, RunEvidence, StandingReport } from './health-reports.ts';
import type { LossCounts } from './health-watch.ts';
import type { LauncherReport } from './launcher-reports.ts';
import type { StepsSoFar } from './progress-tracker.ts';
import type {
  PodPreflightReport,
  ReportingPod,
  SavedByRanks,
  SessionCount,
  PodTrainedReport,
} from './session-ports.ts';

/*
 * Messages between the loop's thread and the ingest thread. Plain data: each message is copied.
 *
 *   loop's thread                                      ingest thread
 *   cluster, leadership, decisions                     TLS, frames, sessions, steps, series
 *      ── view (every 200 ms, what changed) ───────►
 *      ◄─ question (a pod? a checkpoint?), answer ──►  a limited number at once; others wait in the ingest thread
 *      ◄─ digest (one per second), digestTaken ─────►  the next one waits until this one was taken
 *
 * Steps stay in the ingest thread. Unread messages are bounded by the number of open questions, one digest, and five views per second.
 */

/** Start parameters of the thread. Everything but the port may differ at the next start. */
export interface IngestStart {
  readonly listenHost: string;
  readonly listenPort: number;
  /** Base URL of this replica alone. */
  readonly ownUrl: string;
  readonly serving: KeyPair;
  readonly silenceMs: number;
  /** Window of detectors that compare ranks. */
  readonly healthWindowMs: number;
  /** Time without any sign of work after which a gang is an incident. */
  readonly idleMs: number;
  /** Folder for traces of reports; absent: no traces. */
  readonly healthTraceDirectory?: string;
  /** Namespaces where pods of other controllers may report. Default: none. */
  readonly observedNamespaces?: readonly string[];
  /** User names as the API server spells them. */
  readonly seriesReaders: readonly string[];
  /** For the thread's own token reviews; absent: the service account of the pod. */
  readonly kubeconfigPath?: string;
}

/** Whether this replica leads, and for how long at least; otherwise the URL of the leader. */
export type LeadershipView =
  | { readonly leading: true; readonly term: number; readonly leftMs: number }
  | { readonly leading: false; readonly leaderUrl?: string };

/** The newest attempt of a job, as far as the loop's thread knows. */
export interface NewestEpoch {
  readonly jobUid: string;
  /** undefined: the job does not exist. */
  readonly epoch: number | undefined;
  /** The attempt is over: its checkpoints and reports no longer count. */
  readonly isFenced: boolean;
  /** Newest incarnation of that attempt. */
  readonly incarnation: number;
  /** Newest early save that was requested from its ranks; absent: none. */
  readonly saveRequest?: number;
}

/** A request that only the loop's thread can handle. */
export type IngestQuestion =
  | {
      readonly kind: 'findPod' | 'isKnownPod';
      readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
    }
  | { readonly kind: 'recordCheckpoint'; readonly pod: ReportingPod; readonly saved: SavedByRanks }
  | { readonly kind: 'rosterOf'; readonly jobUid: string }
  | { readonly kind: 'openKeptLogs'; readonly request: KeptLogsRequest };

interface AnswerByKind {
  readonly findPod:
    | { readonly pod: ReportingPod; readonly newest: NewestEpoch }
    | { readonly pod: 'unknown' | 'unavailable'; readonly newest?: undefined };
  readonly isKnownPod: boolean;
  /** undefined: the gang is unknown. */
  readonly rosterOf: GangRoster | undefined;
  /** undefined: the result is unknown at the moment. */
  readonly openKeptLogs: KeptLogsReply | undefined;
  /** failed: the result is unknown at the moment. */
  readonly recordCheckpoint: 'recorded' | 'stale' | 'unwanted' | 'failed';
}

/** Answer to a question of that kind. */
export type IngestAnswer<Kind extends IngestQuestion['kind'] = IngestQuestion['kind']> = AnswerByKind[Kind];

/** Everything that the thread received since the previous digest; bounded by the number of pods and jobs. */
export interface IngestDigest {
  /** Pods that sent a valid report. */
  readonly contacts: readonly {
    readonly jobUid: string;
    readonly epoch: number;
    readonly podUids: readonly string[];
  }[];
  /** Time of the digest, on the clock that all threads share. */
  readonly sentAtMs: number;
  /** Jobs with new steps. */
  readonly progress: readonly StepsSoFar[];
  /** Jobs whose ranks have ended. */
  readonly ended: readonly string[];
  /** The newest report of each launcher about its ranks. */
  readonly launchers: readonly LauncherReport[];
  /** Preflight reports of pods. */
  readonly preflights: readonly PodPreflightReport[];
  /** Verdicts about gangs. */
  readonly health: readonly HealthReport[];
  /** Where gangs stand that do not train. */
  readonly standings: readonly StandingReport[];
  /** How often detectors of a run ended before the run, by cause. */
  readonly losses: LossCounts;
  /** What ranks train according to their hooks. */
  readonly trained: readonly PodTrainedReport[];
  readonly counts: Readonly<Partial<Record<SessionCount, number>>>;
  readonly connections: number;
  /** Share of the time that the thread was busy, in [0, 1]. */
  readonly utilisation: number;
}

/** A message for the launcher of one pod. */
export interface AddressedMessage {
  readonly jobUid: string;
  readonly epoch: number;
  readonly podUid: string;
  readonly message: Extract<
    OperatorMessage,
    { kind: 'assignment' | 'verifyWanted' | 'endRanks' | 'saveWanted' | 'preflightDone' }
  >;
}

/** From the loop's thread. */
export type ToIngest =
  | { readonly kind: 'view'; readonly leadership: LeadershipView; readonly jobs: readonly NewestEpoch[] }
  | { readonly kind: 'refuse'; readonly jobUid: string; readonly epoch: number; readonly why: string }
  | { readonly kind: 'forget'; readonly jobUid: string }
  | ({ readonly kind: 'order' } & AddressedMessage)
  | { readonly kind: 'certificate'; readonly serving: KeyPair }
  /** Asks where the newest run of the job and these ranks are now; answered by `evidence`. */
  | { readonly kind: 'readEvidence'; readonly id: number; readonly jobUid: string; readonly ranks: readonly number[] }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: IngestAnswer }
  | { readonly kind: 'digestTaken' }
  | { readonly kind: 'stop' };

/** To the loop's thread. */
export type FromIngest =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'question'; readonly id: number; readonly question: IngestQuestion }
  | { readonly kind: 'digest'; readonly digest: IngestDigest }
  /** undefined: no launcher of the job has reported to the thread. */
  | { readonly kind: 'evidence'; readonly id: number; readonly evidence: RunEvidence | undefined }
  | { readonly kind: 'stopped' };

/** Milliseconds on the machine's monotonic clock, which is the same in every thread of a process; `performance.now()` is not. */
export function sharedMonotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
