import type { OperatorMessage } from '@coxswain/api-types';
import type { KeyPair } from './authority.ts';
import type { GangRoster, HealthReport } from './health-watch.ts';
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
 * What the loop's thread and the thread of the reports say to each other. Plain data: each message is copied.
 *
 *   loop's thread                                      thread of the reports
 *   cluster, leadership, decisions                     TLS, frames, sessions, steps, series
 *      ── view (every 200 ms, what changed) ───────►
 *      ◄─ question (a pod? a checkpoint?), answer ──►  at most so many at once; the others wait over there
 *      ◄─ digest (a second's worth), digestTaken ───►  the next one waits until this one was taken
 *
 * No step crosses. Whatever one side fails to read in time is bounded: by the questions that may be open, one digest, and five views a second.
 */

/** What the thread begins with. Everything but the port may change later. */
export interface IngestStart {
  readonly listenHost: string;
  readonly listenPort: number;
  /** Base URL of this replica alone. */
  readonly ownUrl: string;
  readonly serving: KeyPair;
  readonly silenceMs: number;
  /** Of detectors that compare ranks. */
  readonly healthWindowMs: number;
  /** Where traces of what ranks tell are written; absent: nowhere. */
  readonly healthTraceDirectory?: string;
  /** User names as the API server spells them. */
  readonly seriesReaders: readonly string[];
  /** The thread asks the API server itself who a token stands for; absent: the service account of the pod. */
  readonly kubeconfigPath?: string;
}

/** Whether this replica leads, and for how long at least; if not, where the leader is. */
export type LeadershipView =
  | { readonly leading: true; readonly term: number; readonly leftMs: number }
  | { readonly leading: false; readonly leaderUrl?: string };

/** The newest epoch of a job, as far as the loop's thread knows. */
export interface NewestEpoch {
  readonly jobUid: string;
  /** undefined: the job is gone. */
  readonly epoch: number | undefined;
  /** The epoch is over: nothing of it is to be saved or believed any more. */
  readonly isFenced: boolean;
  /** Newest of that epoch. */
  readonly incarnation: number;
  /** Newest save that its ranks were asked for before it was due; absent: none. */
  readonly saveRequest?: number;
}

/** What only the loop's thread can tell or do. */
export type IngestQuestion =
  | {
      readonly kind: 'findPod' | 'isKnownPod';
      readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
    }
  | { readonly kind: 'recordCheckpoint'; readonly pod: ReportingPod; readonly saved: SavedByRanks }
  | { readonly kind: 'rosterOf'; readonly jobUid: string };

interface AnswerByKind {
  readonly findPod:
    | { readonly pod: ReportingPod; readonly newest: NewestEpoch }
    | { readonly pod: 'unknown' | 'unavailable'; readonly newest?: undefined };
  readonly isKnownPod: boolean;
  /** undefined: it is not seen. */
  readonly rosterOf: GangRoster | undefined;
  /** failed: it cannot be told at the moment. */
  readonly recordCheckpoint: 'recorded' | 'stale' | 'unwanted' | 'failed';
}

/** What is answered to a question of that kind. */
export type IngestAnswer<Kind extends IngestQuestion['kind'] = IngestQuestion['kind']> = AnswerByKind[Kind];

/** Everything that the thread learned since the digest before; bounded by the number of pods and jobs. */
export interface IngestDigest {
  /** Launchers whose words counted, and how long ago the digest was begun, by the clock that all threads share. */
  readonly contacts: readonly {
    readonly jobUid: string;
    readonly epoch: number;
    readonly podUids: readonly string[];
  }[];
  readonly sentAtMs: number;
  /** Jobs that are further than before. */
  readonly progress: readonly StepsSoFar[];
  /** Jobs of which ranks have ended. */
  readonly ended: readonly string[];
  /** What launchers said of their ranks, the newest of each that said something. */
  readonly launchers: readonly LauncherReport[];
  /** What pods told of themselves before their first rank. */
  readonly preflights: readonly PodPreflightReport[];
  /** What detectors found of gangs. */
  readonly health: readonly HealthReport[];
  /** What pods told of what they really train. */
  readonly trained: readonly PodTrainedReport[];
  readonly counts: Readonly<Partial<Record<SessionCount, number>>>;
  readonly connections: number;
  /** Share of the time that the thread was busy, in [0, 1]. */
  readonly utilisation: number;
}

/** What one launcher is to be told. */
export interface AddressedMessage {
  readonly jobUid: string;
  readonly epoch: number;
  readonly podUid: string;
  readonly message: Extract<OperatorMessage, { kind: 'assignment' | 'endRanks' | 'saveWanted' | 'preflightDone' }>;
}

/** From the loop's thread. */
export type ToIngest =
  | { readonly kind: 'view'; readonly leadership: LeadershipView; readonly jobs: readonly NewestEpoch[] }
  | { readonly kind: 'refuse'; readonly jobUid: string; readonly epoch: number; readonly why: string }
  | { readonly kind: 'forget'; readonly jobUid: string }
  | ({ readonly kind: 'order' } & AddressedMessage)
  | { readonly kind: 'certificate'; readonly serving: KeyPair }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: IngestAnswer }
  | { readonly kind: 'digestTaken' }
  | { readonly kind: 'stop' };

/** To the loop's thread. */
export type FromIngest =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'question'; readonly id: number; readonly question: IngestQuestion }
  | { readonly kind: 'digest'; readonly digest: IngestDigest }
  | { readonly kind: 'stopped' };

/** Milliseconds on the machine's monotonic clock, which is the same in every thread of a process; `performance.now()` is not. */
export function sharedMonotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
