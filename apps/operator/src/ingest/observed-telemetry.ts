/** Connects what observes pods of other controllers: detectors, stack traces and reads of pods. Own jobs have theirs; the two share nothing. */
import type { Clock, KubeClient } from '@coxswain/kube';
import type { Authenticator } from './authenticator.ts';
import { HealthWatch } from './health-watch.ts';
import { ObservedJobs } from './observed-jobs.ts';
import { ObservedPodReads } from './observed-pod-reads.ts';
import { ObserverEndpoint } from './serve-observers.ts';
import type { ReportPorts } from './session-ports.ts';
import { StackRequests } from './stack-requests.ts';
import { TELEMETRY_BOUNDS, TelemetryBudget } from './telemetry-budget.ts';

const TICK_MS = 1_000;
const MIB = 1_048_576;
/** Beside what own jobs may take of the thread's heap. */
const BOUNDS = { ...TELEMETRY_BOUNDS, job: 48 * MIB, namespace: 48 * MIB, all: 64 * MIB };

interface ObservedTelemetryParts {
  readonly client: Pick<KubeClient, 'list'>;
  readonly clock: Clock;
  readonly authenticator: Authenticator;
  readonly leadership: ReportPorts['leadership'];
  readonly windowMs: number;
  readonly idleMs: number;
  readonly kilobytesPerSecond: () => number;
  /** Namespaces whose pods are observed. */
  readonly namespaces: readonly string[];
  readonly warn: (message: string) => void;
}

/** Everything about observed jobs in the ingest thread. */
export class ObservedTelemetry {
  readonly jobs: ObservedJobs;
  readonly endpoint: ObserverEndpoint;
  readonly #clock: Clock;
  readonly #health: HealthWatch;
  readonly #pods: ObservedPodReads;
  #tickedAtMs = Number.NEGATIVE_INFINITY;

  constructor({
    client,
    clock,
    authenticator,
    leadership,
    windowMs,
    idleMs,
    kilobytesPerSecond,
    namespaces,
    warn,
  }: ObservedTelemetryParts) {
    this.#clock = clock;
    const monotonicMs = (): number => clock.monotonicMs();
    const rosterOf = (key: string): ReturnType<StackRequestsRoster> => Promise.resolve(this.jobs.rosterOf(key));
    const stacks: StackRequests = new StackRequests({
      rendezvous: { membersOf: (gang) => this.jobs.membersOf(gang) },
      rosterOf,
      clock,
      kilobytesPerSecond,
    });
    this.#health = new HealthWatch({
      monotonicMs,
      rosterOf,
      windowMs,
      idleMs,
      stacks: (run, ranks) => stacks.evidenceOf(run, ranks),
      budget: new TelemetryBudget(BOUNDS),
    });
    this.jobs = new ObservedJobs({ health: this.#health, stacks: () => stacks, monotonicMs, now: () => clock.now() });
    this.#pods = new ObservedPodReads({
      client,
      clock,
      isLeading: () => leadership().leading,
      namespaces,
      warn,
      take: (pods) => this.jobs.replacePods(pods),
    });
    const onUnknown = (podUid: string): void => this.#pods.hurry(podUid);
    const access = { authenticator, leadership, jobs: this.jobs, namespaces, monotonicMs, onUnknown };
    this.endpoint = new ObserverEndpoint(access);
  }

  /** Reads pods until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#pods.run(signal);
  }

  /** Called several times a second. */
  serve(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#tickedAtMs >= TICK_MS) {
      this.#tickedAtMs = nowMs;
      this.jobs.tick();
    }
    this.#health.serve();
  }
}

type StackRequestsRoster = ConstructorParameters<typeof StackRequests>[0]['rosterOf'];
