/** What follows from what detectors found of a gang: who is kept away from, and what people are told? */
import type { TrainingJob } from '@coxswain/api-types';
import type { Verdict as NamedCulprit } from '@coxswain/lifecycle';
import { isLater } from './progress-tracker.ts';
import type { HealthWord } from './health-watch.ts';

/** Beyond as many nodes at once, and a tenth of the gang, a common cause is likelier than so many bad nodes. */
const MOST_NODES = 4;
const MOST_SHARE = 0.1;

type Known = Pick<HealthWord, 'epoch' | 'incarnation'> & { culprits: readonly NamedCulprit[] };

/**
 * Verdicts of the newest run of each job. In memory: whoever leads next finds the same again, and what was done about it is recorded with the
 * attempt.
 */
export class HealthDesk {
  readonly #known = new Map<string, Known>();
  readonly #tell: (word: HealthWord) => void;
  readonly #nodesOf: (jobUid: string) => number;
  readonly #knowsPhases: (jobUid: string) => boolean;

  constructor(parts: {
    /** For people: each verdict once. */
    readonly tell: (word: HealthWord) => void;
    /** Nodes of the job's newest gang. */
    readonly nodesOf: (jobUid: string) => number;
    /** Whether the hook can tell when the job's engine saves, evaluates or compiles. */
    readonly knowsPhases: (jobUid: string) => boolean;
  }) {
    this.#knowsPhases = parts.knowsPhases;
    this.#tell = parts.tell;
    this.#nodesOf = parts.nodesOf;
  }

  /** Answers with the jobs of which a gang is to be ended for it. */
  hear(words: readonly HealthWord[]): readonly string[] {
    const acted = new Set<string>();
    for (const word of words.map(withNode)) {
      const { jobUid, epoch, incarnation } = word;
      const known = this.#known.get(jobUid);
      if (known !== undefined && isLater(known, word)) continue;
      this.#tell(word);
      const culprits = this.#culpritsOf(word);
      if (culprits.length === 0) continue;
      const before = known !== undefined && !isLater(word, known) ? known.culprits : [];
      this.#known.set(jobUid, { epoch, incarnation, culprits: [...before, ...culprits] });
      acted.add(jobUid);
    }
    return [...acted];
  }

  ofJob(job: TrainingJob): readonly NamedCulprit[] {
    return this.#known.get(job.metadata.uid)?.culprits ?? [];
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#known.delete(jobUid);
  }

  /** A rank that others wait for is ended with its gang, and its node kept away from, where few are to blame. A hang of the network, or of the program, ends the gang alone. */
  #culpritsOf({ jobUid, epoch, incarnation, verdict }: HealthWord): readonly NamedCulprit[] {
    const { action, ranks, message } = verdict;
    const about = { epoch, incarnation, message };
    if (action === 'stop') return [{ ...about, about: { kind: 'gang' } }];
    // Of an engine that does not say in what it waits nobody knows whether it trains, saves or evaluates: that its steps do not come ends nothing.
    if (action !== 'evict' || verdict.evidence['waitedForMs'] === undefined) return [];
    // A rank that says that it lives may evaluate in words that no hook knows, while the others wait at a barrier for minutes, and all is well.
    if (verdict.evidence['cause'] === 'rankMissing' && !this.#knowsPhases(jobUid)) return [];
    const most = Math.max(MOST_NODES, MOST_SHARE * this.#nodesOf(jobUid));
    if (ranks.length === 0 || ranks.length > most) return [{ ...about, about: { kind: 'gang' } }];
    return ranks.map((rank) => ({ ...about, about: { kind: 'rank', rank } }));
  }
}

/** The node is said where there is one: people look there. */
function withNode(word: HealthWord): HealthWord {
  const { verdict } = word;
  if (verdict.node === undefined) return word;
  return { ...word, verdict: { ...verdict, message: `${verdict.message} Node ${verdict.node}.` } };
}
