/** A gang whose launchers report to the real detectors, and the controller that judges their verdicts. */
import type { RankWatermark } from '@coxswain/api-types';
import { aLayout } from '@coxswain/layout/testing';
import type { GangRoster, HealthReport, RunOfRanks } from '../ingest/health-reports.ts';
import { HealthWatch } from '../ingest/health-watch.ts';
import { HealthController } from '../launchers/health-controller.ts';

/** A gang of so many nodes and ranks. */
export class WatchedGang {
  readonly watch: HealthWatch;
  readonly controller: HealthController;
  readonly run: RunOfRanks;
  nowMs = 0;
  step = 0;
  readonly #nodes: number;
  readonly #ranksPerNode: number;

  constructor(about: { readonly nodes: number; readonly ranksPerNode: number; readonly jobUid?: string }) {
    const { nodes, ranksPerNode, jobUid = 'job-1' } = about;
    this.#nodes = nodes;
    this.#ranksPerNode = ranksPerNode;
    this.run = { jobUid, epoch: 1, incarnation: 1 };
    const roster: GangRoster = {
      namespace: 'team',
      epoch: 1,
      layout: aLayout({ dataParallelDegree: nodes * ranksPerNode }),
      nodes: Array.from({ length: nodes }, (_, node) => ({
        node: `node-${node}`,
        ranks: `${node * ranksPerNode}-${(node + 1) * ranksPerNode - 1}`,
      })),
    };
    this.watch = new HealthWatch({ monotonicMs: () => this.nowMs, rosterOf: () => Promise.resolve(roster) });
    this.controller = new HealthController({
      now: () => this.now,
      warn: () => undefined,
      nodesOf: () => nodes,
      knowsPhases: () => true,
      slowEndsToday: () => 0,
    });
  }

  get now(): Date {
    return new Date(Date.parse('2026-01-01T00:00:00Z') + this.nowMs);
  }

  /** Ranks train for so long, a step each two seconds. Those in `stuck` are in their own code, and the others wait for them; they have done so for `stoodSeconds`. */
  async train(seconds: number, stuck: readonly number[] = [], stoodSeconds = 0): Promise<readonly HealthReport[]> {
    const reported: HealthReport[] = [];
    for (let second = 0; second < seconds; second += 2) {
      this.nowMs += 2_000;
      if (stuck.length === 0) this.step += 1;
      this.#report(stuck, stuck.length === 0 ? 10 : (stoodSeconds + second + 2) * 1_000);
      this.watch.tick();
      await Promise.resolve();
      const reports = this.watch.takeReports();
      reported.push(...reports);
      this.controller.receive(reports);
    }
    return reported;
  }

  #report(stuck: readonly number[], ageMs: number): void {
    const processGroups = [{ group: '1', name: 'data', ranks: `0-${this.#nodes * this.#ranksPerNode - 1}` }];
    for (let node = 0; node < this.#nodes; node += 1) {
      const ranks = Array.from({ length: this.#ranksPerNode }, (_, index) => node * this.#ranksPerNode + index);
      const watermarks = ranks.map((rank) => this.#watermarkOf(rank, stuck, ageMs));
      const alive = ranks.map((rank) => ({ rank, alive: true, step: this.step }));
      this.watch.heartbeat(this.run, { ranks: alive, watermarks, processGroups });
      const timings = ranks.map((rank) => ({ rank, stepTimeMs: 2_000, timingsMs: {} }));
      const report = { step: this.step, loss: 2, tokens: null, learningRate: null, gradNorm: null, ranks: timings };
      if (stuck.length === 0) this.watch.step(this.run, report);
    }
  }

  #watermarkOf(rank: number, stuck: readonly number[], ageMs: number): RankWatermark {
    const enqueued = this.step + (stuck.length > 0 && !stuck.includes(rank) ? 1 : 0);
    const group = { group: '1', operation: 'all_reduce', bytes: 8, started: enqueued, completed: this.step };
    return {
      rank,
      step: this.step,
      phase: 'training',
      phaseAgeMs: ageMs,
      groups: [{ ...group, enqueued, ageMs }],
    };
  }
}
