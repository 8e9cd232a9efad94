import { FakeClock } from '@coxswain/kube/testing';
import { aLayout } from '@coxswain/layout/testing';
import type { GangRoster } from './health-reports.ts';
import { HealthWatch } from './health-watch.ts';
import { JobTelemetry } from './job-telemetry.ts';
import { ProgressTracker } from './progress-tracker.ts';
import { Rendezvous } from './rendezvous.ts';
import { StackRequests } from './stack-requests.ts';
import { TelemetryBudget } from './telemetry-budget.ts';

const ROSTER: GangRoster = {
  namespace: 'team',
  epoch: 1,
  layout: aLayout({ dataParallelDegree: 2 }),
  nodes: [{ node: 'a', ranks: '0-1' }],
};

class Setup {
  readonly budget = new TelemetryBudget();
  readonly progress = new ProgressTracker();
  readonly health: HealthWatch;
  readonly telemetry: JobTelemetry;

  constructor() {
    const clock = new FakeClock();
    const rosterOf = (): Promise<GangRoster> => Promise.resolve(ROSTER);
    this.health = new HealthWatch({ monotonicMs: () => clock.monotonicMs(), rosterOf, budget: this.budget });
    const stacks = new StackRequests({
      rendezvous: new Rendezvous(),
      rosterOf,
      clock,
      kilobytesPerSecond: () => 1_000,
    });
    this.telemetry = new JobTelemetry({ health: this.health, progress: this.progress, stacks });
  }

  /** A heartbeat with a process group, and step 7, of an attempt. */
  async report(jobUid: string, epoch = 1): Promise<void> {
    const run = { jobUid, epoch, incarnation: 1 };
    for (let time = 0; time < 2; time += 1) {
      const processGroups = [{ group: '1', name: 'data', ranks: '0-1' }];
      this.health.heartbeat(run, { ranks: [{ rank: 0, alive: true, step: 7 }], processGroups });
      await Promise.resolve();
    }
    this.progress.recordStep(run, { at: '2026-01-01T00:00:00Z', step: 7, loss: 2, tokens: 1, stepTimeMs: 10 });
  }

  /** Jobs in each map, and bytes. */
  get sizes(): readonly number[] {
    return [this.health.size, this.budget.size, this.budget.bytes, this.progress.size, this.telemetry.size];
  }
}

const over = { isFenced: true, incarnation: 1 };

describe('what is kept of a job that reports', () => {
  it.each<[string, (setup: Setup) => void]>([
    ['when its attempt is over', ({ telemetry }) => telemetry.receiveEpochs([{ jobUid: 'a', epoch: 1, ...over }])],
    ['when it is deleted', ({ telemetry }) => telemetry.receiveEpochs([{ jobUid: 'a', epoch: undefined, ...over }])],
    ['when it is finished', ({ telemetry }) => telemetry.forget('a')],
  ])('is dropped %s: every map is empty', async (_, end) => {
    const setup = new Setup();
    await setup.report('a');
    expect(setup.sizes).toEqual([1, 1, expect.any(Number), 1, 0]);
    end(setup);
    setup.telemetry.takeProgress();
    expect(setup.sizes).toEqual([0, 0, 0, 0, 0]);
  });

  it('has the last steps of an attempt in it until they were taken', async () => {
    const setup = new Setup();
    await setup.report('a');
    setup.telemetry.receiveEpochs([{ jobUid: 'a', epoch: 1, ...over }]);
    expect(setup.telemetry.takeProgress()).toMatchObject([{ jobUid: 'a', step: 7 }]);
    expect(setup.telemetry.takeProgress()).toEqual([]);
  });

  it.each([
    ['of a later attempt', { jobUid: 'a', epoch: 0, ...over }],
    ['of an attempt that goes on', { jobUid: 'a', epoch: 1, isFenced: false, incarnation: 2 }],
    ['of another job', { jobUid: 'b', epoch: 9, ...over }],
  ])('stays when it is %s', async (_, news) => {
    const setup = new Setup();
    await setup.report('a');
    setup.telemetry.receiveEpochs([news]);
    setup.telemetry.takeProgress();
    expect(setup.sizes).toEqual([1, 1, expect.any(Number), 1, 0]);
  });
});
