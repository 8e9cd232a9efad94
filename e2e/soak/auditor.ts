import { API_GROUP_VERSION, isTrue, LABELS, type TrainingJob } from '@coxswain/api-types';
import type { CoxswainSystem } from '@coxswain/local-cluster';

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly status: { readonly phase: string };
}

/** How far a job was when it was last seen. */
interface Seen {
  readonly epoch: number;
  readonly step: number;
  readonly charged: number;
  readonly end: string | undefined;
}

/**
 * Looks at the cluster over and over, past every part of Coxswain, and notes each rule that what it sees breaks: one live gang of a job, one live
 * pod in a place, an epoch, a checkpoint and a charge that never fall, an end that stays.
 */
export class Auditor {
  readonly violations = new Set<string>();
  looks = 0;
  readonly #system: CoxswainSystem;
  readonly #namespace: string;
  readonly #seen = new Map<string, Seen>();

  constructor(system: CoxswainSystem, namespace: string) {
    this.#system = system;
    this.#namespace = namespace;
  }

  /** One look; an API server that does not answer shows nothing. */
  async look(): Promise<void> {
    const { admin } = this.#system.plane;
    const list = async <T>(path: string): Promise<readonly T[]> =>
      (await admin.json<{ readonly items: readonly T[] }>({ method: 'GET', path })).items;
    const [jobs, pods] = await Promise.all([
      list<TrainingJob>(`/apis/${API_GROUP_VERSION}/namespaces/${this.#namespace}/trainingjobs`),
      list<Pod>(`/api/v1/namespaces/${this.#namespace}/pods`),
    ]);
    this.looks += 1;
    for (const job of jobs) this.#judgeJob(job);
    this.#judgePods(pods);
  }

  #judgeJob({ metadata, status }: TrainingJob): void {
    const before = this.#seen.get(metadata.uid);
    const conditions = status?.conditions;
    const end = (['Complete', 'Failed'] as const).find((type) => isTrue(conditions, type));
    const now: Seen = {
      epoch: status?.epoch ?? 0,
      step: status?.checkpoint?.step ?? 0,
      charged: status?.restarts.charged ?? 0,
      end,
    };
    this.#seen.set(metadata.uid, now);
    if (before === undefined) return;
    for (const what of ['epoch', 'step', 'charged'] as const) {
      if (now[what] < before[what])
        this.#blame(`${what} of ${metadata.name} fell from ${before[what]} to ${now[what]}`);
    }
    if (before.end !== undefined && now.end !== before.end)
      this.#blame(`${metadata.name} was ${before.end} and is not`);
  }

  #judgePods(pods: readonly Pod[]): void {
    const epochs = new Map<string, string>();
    const places = new Map<string, string>();
    for (const { metadata, status } of pods) {
      const jobUid = metadata.labels?.[LABELS.jobUid];
      if (jobUid === undefined || !['Pending', 'Running'].includes(status.phase)) continue;
      const epoch = metadata.labels?.[LABELS.epoch] ?? '';
      const place = `${jobUid}/${epoch}/${metadata.labels?.[LABELS.podIndex]}`;
      const other = epochs.get(jobUid) ?? epoch;
      if (other !== epoch)
        this.#blame(`pods of epochs ${[other, epoch].toSorted().join(' and ')} of one job were live at once`);
      if (places.has(place)) this.#blame(`${metadata.name} was live twice`);
      epochs.set(jobUid, epoch);
      places.set(place, metadata.uid);
    }
  }

  #blame(sentence: string): void {
    this.violations.add(sentence);
  }
}
