/** What does a job live through in so many days? Faults and durations are drawn; what is done about them the real rules decide. */
import { SimulatedCluster } from '../cluster/simulated-cluster.ts';
import { NODES_PER_LEAF } from '../cluster/simulated-nodes.ts';
import { VirtualTime } from '../kernel/virtual-time.ts';
import type { FailurePreset } from '../presets/failures.ts';
import type { Response } from '../presets/responses.ts';
import { type Fault, FaultDraws } from './fault-draws.ts';
import { assertCloses, effectiveShare, type Loss, type LossBudget, LOSSES, NOTHING_SPENT } from './loss-budget.ts';
import { Progress } from './progress.ts';

const DAY_MS = 86_400_000;
/** A job that waits for nodes is looked at when one comes back; by time alone only a node that is avoided becomes free, which took an hour. */
const WAITING_RECONCILE_MS = 300_000;

/** Size, duration and presets of one simulated run. The same question gives the same outcome. */
export interface RunQuestion {
  readonly nodes: number;
  /** Free nodes beside the gang; standbys take some of them. */
  readonly spareNodes: number;
  /** `spec.standby` of the job. */
  readonly standbys?: number;
  readonly days: number;
  readonly seed: number;
  readonly failures: FailurePreset;
  readonly response: Response;
  /** The rules decide on a gang of at most so many nodes that stands for all: they know no size but that of spares. Lemons are among these. */
  readonly mostGangNodes: number;
  /** Nodes say below which switches they sit, and placement searches by it: slower, and changes no time of the simulation. */
  readonly hasSwitches?: boolean;
}

/** A stop of training and what it took. Times in milliseconds since the beginning. */
export interface Incident {
  readonly cause: string;
  /** eviction: a node that works, or only slowly, was taken away. */
  readonly kind: 'fault' | 'planned' | 'eviction';
  readonly takesPerson: boolean;
  readonly isLeafOutage: boolean;
  readonly atMs: number;
  readonly resumedAtMs: number;
  readonly lostWorkMs: number;
  /** What the rules did: the ranks again in their pods, also in that of a standby, or a new attempt; undefined: the run ended before. */
  readonly answer: 'inPlace' | 'standby' | 'newEpoch' | undefined;
}

/** What one simulated run achieved, and where its time went. */
export interface RunOutcome {
  readonly seed: number;
  readonly budget: LossBudget;
  readonly effective: number;
  readonly incidents: readonly Incident[];
  /** Of the restarts, what was waited for nodes, in milliseconds. */
  readonly waitedForNodesMs: number;
  /** Why the rules gave the job up, if they did. */
  readonly gaveUp?: string;
  readonly reconciles: number;
}

/** The whole run. Throws where its loss budget does not close. */
export function simulateRun(question: RunQuestion): RunOutcome {
  return new TrainingRun(question).outcome();
}

type Phase = 'running' | Extract<Loss, 'detect' | 'locate' | 'restart' | 'planned'>;

interface OpenIncident {
  readonly incident: Omit<Incident, 'resumedAtMs' | 'lostWorkMs' | 'answer'>;
  /** Epoch in which it began, and how many standbys had taken a place in it. */
  readonly epoch: number;
  readonly standbysTaken: number;
  /** Not before: when ranks would train again if nothing had to be waited for. Of a swap and of a restart of processes. */
  due: { readonly swapAtMs: number; readonly processAtMs: number };
  /** From the moment at which every rank is there. */
  readonly processMs: number;
}

class TrainingRun {
  readonly #question: RunQuestion;
  readonly #time = new VirtualTime();
  readonly #draws: FaultDraws;
  readonly #cluster: SimulatedCluster;
  readonly #progress: Progress;
  readonly #slow = new Set<string>();
  readonly #incidents: Incident[] = [];
  #budget: LossBudget = NOTHING_SPENT;
  #phase: Phase = 'running';
  #sinceMs = 0;
  #open: OpenIncident | undefined;
  /** What happened while nothing ran, and strikes as soon as something does. */
  readonly #postponed: (() => void)[] = [];
  #waitedMs = 0;
  #waitsSinceMs: number | undefined;
  /** Counts the reports to the cluster: an earlier reconcile that is still due is void. */
  #reconciles = 0;

  constructor(question: RunQuestion) {
    this.#question = question;
    const { nodes, spareNodes, response, mostGangNodes } = question;
    this.#draws = new FaultDraws(question);
    this.#progress = new Progress({
      intervalMs: response.checkpointIntervalSeconds * 1000,
      stallMs: response.checkpointStallSeconds * 1000,
    });
    this.#cluster = new SimulatedCluster({
      gangNodes: Math.min(nodes, mostGangNodes),
      spareNodes,
      standbys: question.standbys ?? 0,
      hasSwitches: question.hasSwitches ?? false,
      nowMs: () => this.#time.nowMs,
    });
  }

  outcome(): RunOutcome {
    const { days, seed } = this.#question;
    this.#cluster.settle();
    this.#beginSlow();
    this.#afterFault();
    this.#afterPlanned();
    this.#afterFalseAlarm();
    const endMs = days * DAY_MS;
    this.#time.runUntil(endMs);
    this.#enter(this.#phase);
    this.#endWait();
    if (this.#open !== undefined) this.#close(this.#open, { lostWorkMs: 0, answer: undefined });
    const budget = this.#budget;
    assertCloses(budget, endMs);
    const gaveUp = this.#cluster.gaveUp;
    return {
      seed,
      budget,
      effective: effectiveShare(budget),
      incidents: this.#incidents,
      waitedForNodesMs: this.#waitedMs,
      ...(gaveUp === undefined ? {} : { gaveUp }),
      reconciles: this.#cluster.reconciles,
    };
  }

  #afterFault(): void {
    this.#time.after(this.#draws.nextFaultMs(), () => {
      const fault = this.#draws.fault();
      this.#whenRunning(() => this.#begin(fault));
      this.#afterFault();
    });
  }

  #afterPlanned(): void {
    const inMs = this.#draws.nextPlannedMs();
    if (!Number.isFinite(inMs)) return;
    this.#time.after(inMs, () => {
      this.#whenRunning(() => this.#stopAsPlanned());
      this.#afterPlanned();
    });
  }

  #afterFalseAlarm(): void {
    const inMs = this.#draws.nextFalseAlarmMs();
    if (!Number.isFinite(inMs)) return;
    this.#time.after(inMs, () => {
      this.#whenRunning(() => this.#evict(this.#draws.anyOf(this.#cluster.gang), 'false alarm'));
      this.#afterFalseAlarm();
    });
  }

  #whenRunning(happening: () => void): void {
    if (this.#phase === 'running') happening();
    else this.#postponed.push(happening);
  }

  /** Time until now goes to what was going on. */
  #enter(phase: Phase): void {
    const spentMs = this.#time.nowMs - this.#sinceMs;
    if (this.#phase === 'running') this.#spend(this.#progress.train(spentMs, this.#slowdown()));
    else this.#spend({ ...NOTHING_SPENT, [this.#phase]: spentMs });
    this.#phase = phase;
    this.#sinceMs = this.#time.nowMs;
  }

  #spend(spent: LossBudget): void {
    const sum = LOSSES.map((loss) => [loss, this.#budget[loss] + spent[loss]]);
    this.#budget = {
      ...NOTHING_SPENT,
      ...Object.fromEntries(sum),
      productive: this.#budget.productive + spent.productive,
    };
  }

  #slowdown(): number {
    const isSlow = this.#slow.size > 0 && this.#cluster.gang.some((node) => this.#slow.has(node));
    return isSlow ? this.#question.failures.slowNodes.jobSlowdown : 1;
  }

  #begin(fault: Fault): void {
    const { cause, takesPerson, isLeafOutage } = fault;
    this.#enter('detect');
    const victim = this.#draws.victim(this.#cluster.gang);
    this.#opens({
      cause: isLeafOutage ? 'leaf switch outage' : cause.name,
      kind: 'fault',
      takesPerson,
      isLeafOutage,
    });
    this.#cluster.save(stepAt(this.#progress.savedMs));
    this.#time.after(fault.detectMs, () => {
      this.#enter('locate');
      this.#time.after(fault.locateMs, () => this.#act(fault, victim));
    });
  }

  #opens(about: Omit<OpenIncident['incident'], 'atMs'>): void {
    const { nowMs } = this.#time;
    const epoch = this.#cluster.attempt?.epoch ?? 0;
    const due = { swapAtMs: nowMs, processAtMs: nowMs };
    const { standbysTaken } = this.#cluster;
    this.#open = { incident: { ...about, atMs: nowMs }, epoch, standbysTaken, due, processMs: 0 };
  }

  /** Reports what was detected, as nodes, launchers and detectors report it; then the rules decide. */
  #act(fault: Fault, victim: string): void {
    this.#enter('restart');
    const lastStep = stepAt(this.#progress.trainedMs) + 1;
    if (fault.cause.kind === 'sdc') this.#condemnSavesAfter(lastStep);
    if (fault.isLeafOutage) this.#cutOffLeaf(victim, lastStep);
    else if (fault.cause.strikes === 'software') this.#cluster.failRank(victim, lastStep, 'program');
    else if (fault.isTransient) this.#cluster.failRank(victim, lastStep, 'device');
    else if (fault.isMisdiagnosed) this.#blameWrongly(fault, victim, lastStep);
    else this.#loseNode(victim, fault.cause.strikes, lastStep);
    this.#restart(fault);
  }

  #restart({ processMs, swapMs }: { readonly processMs: number; readonly swapMs: number }): void {
    const { nowMs } = this.#time;
    if (this.#open === undefined) return;
    this.#open = { ...this.#open, due: { swapAtMs: nowMs + swapMs, processAtMs: nowMs + processMs }, processMs };
    this.#reconcile();
  }

  /** Saved while results were wrong already, and known to be. */
  #condemnSavesAfter(step: number): void {
    this.#cluster.save(step + 1);
    this.#cluster.damageAfter(step);
  }

  #loseNode(node: string, strikes: 'device' | 'machine', lastStep: number): void {
    this.#cluster.loseNode(node, strikes, lastStep);
    this.#time.after(this.#draws.repairMs(), () => this.#mend(node));
  }

  #blameWrongly(fault: Fault, victim: string, lastStep: number): void {
    const others = this.#cluster.gang.filter((node) => node !== victim);
    this.#loseNode(others.length === 0 ? victim : this.#draws.anyOf(others), 'device', lastStep);
    this.#postponed.push(() =>
      this.#time.after(this.#draws.repeatMs(), () => {
        this.#whenRunning(() => this.#begin({ ...fault, isMisdiagnosed: false }));
      }),
    );
  }

  #cutOffLeaf(victim: string, lastStep: number): void {
    const { gang } = this.#cluster;
    const first = Math.max(0, Math.min(gang.indexOf(victim), gang.length - NODES_PER_LEAF));
    const below = gang.slice(first, first + NODES_PER_LEAF);
    this.#cluster.loseNodes(below, lastStep);
    this.#time.after(this.#draws.leafOutageMs(), () => {
      for (const node of below) this.#cluster.become(node, 'well');
      this.#reconcileIfWaiting();
    });
  }

  #mend(node: string): void {
    this.#slow.delete(node);
    this.#cluster.become(node, 'well');
    this.#reconcileIfWaiting();
  }

  #beginSlow(): void {
    const { failures, response, nodes } = this.#question;
    const { gang } = this.#cluster;
    const count = Math.round(failures.slowNodes.share * nodes);
    const wanted = Math.min(count, gang.length);
    while (this.#slow.size < wanted) this.#slow.add(this.#draws.anyOf(gang));
    if (response.evictsSlowAfterSeconds === undefined) return;
    for (const node of this.#slow) {
      this.#time.after(response.evictsSlowAfterSeconds * 1000, () => {
        this.#whenRunning(() => this.#evict(node, 'slow node'));
      });
    }
  }

  /** A node that works goes: everything is saved first. */
  #evict(node: string, cause: string): void {
    if (!this.#cluster.gang.includes(node)) return;
    this.#enter('restart');
    this.#progress.save();
    this.#opens({ cause, kind: 'eviction', takesPerson: false, isLeafOutage: false });
    this.#cluster.save(stepAt(this.#progress.savedMs));
    this.#loseNode(node, 'device', stepAt(this.#progress.trainedMs) + 1);
    this.#restart({ processMs: this.#draws.restartMs('process'), swapMs: this.#draws.restartMs('swap') });
  }

  #stopAsPlanned(): void {
    this.#enter('planned');
    this.#progress.save();
    this.#opens({ cause: 'planned', kind: 'planned', takesPerson: false, isLeafOutage: false });
    this.#cluster.save(stepAt(this.#progress.savedMs));
    this.#cluster.suspend(true);
    this.#cluster.settle();
    this.#time.after(this.#question.response.plannedDownSeconds * 1000, () => {
      this.#cluster.suspend(false);
      this.#restart({ processMs: 0, swapMs: 0 });
    });
  }

  #reconcileIfWaiting(): void {
    if (this.#waitsSinceMs !== undefined) this.#reconcile();
  }

  /** The operator looks, and again when it wants to, until every rank is there. */
  #reconcile(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#reconciles += 1;
    const reconcile = this.#reconciles;
    const requeueAfterMs = this.#cluster.settle();
    if (this.#cluster.isUp) {
      this.#endWait();
      const answer = this.#answerTo(open);
      const dueMs = answer === 'newEpoch' ? open.due.swapAtMs : open.due.processAtMs;
      const trainsAtMs = Math.max(dueMs, this.#time.nowMs + open.processMs);
      this.#time.at(trainsAtMs, () => this.#resume(open, answer));
      return;
    }
    if (this.#cluster.waitsForNodes) this.#waitsSinceMs ??= this.#time.nowMs;
    else this.#endWait();
    if (requeueAfterMs === undefined) return;
    const leastMs = this.#waitsSinceMs === undefined ? 0 : WAITING_RECONCILE_MS;
    this.#time.after(Math.max(requeueAfterMs, leastMs), () => {
      if (reconcile === this.#reconciles) this.#reconcile();
    });
  }

  #answerTo({ epoch, standbysTaken }: OpenIncident): NonNullable<Incident['answer']> {
    if (this.#cluster.attempt?.epoch !== epoch) return 'newEpoch';
    return this.#cluster.standbysTaken > standbysTaken ? 'standby' : 'inPlace';
  }

  #endWait(): void {
    if (this.#waitsSinceMs !== undefined) this.#waitedMs += this.#time.nowMs - this.#waitsSinceMs;
    this.#waitsSinceMs = undefined;
  }

  #resume(open: OpenIncident, answer: Incident['answer']): void {
    this.#enter('running');
    const step = this.#cluster.attempt?.resumedFrom?.step;
    const lostWorkMs = this.#progress.resumeAt(step ?? 0);
    this.#budget = {
      ...this.#budget,
      productive: this.#budget.productive - lostWorkMs,
      lostWork: this.#budget.lostWork + lostWorkMs,
    };
    this.#close(open, { lostWorkMs, answer });
    if (open.incident.kind !== 'planned') this.#afterInfant();
    while (this.#phase === 'running' && this.#postponed.length > 0) this.#postponed.shift()?.();
  }

  #afterInfant(): void {
    const inMs = this.#draws.infantMs();
    if (inMs === undefined) return;
    this.#time.after(inMs, () => {
      const fault = this.#draws.fault();
      this.#whenRunning(() => this.#begin(fault));
    });
  }

  #close({ incident }: OpenIncident, end: Pick<Incident, 'lostWorkMs' | 'answer'>): void {
    this.#incidents.push({ ...incident, ...end, resumedAtMs: this.#time.nowMs });
    this.#open = undefined;
  }
}

/** Steps of a millisecond: how far training has come is what a checkpoint of the simulation says as its step. */
function stepAt(trainedMs: number): number {
  return Math.floor(trainedMs);
}
