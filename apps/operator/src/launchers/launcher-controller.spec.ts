import type { Attempt, EarlySave } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { LauncherController, type NewestGang, type RankMessage } from './launcher-controller.ts';
import type { LauncherReport } from '../ingest/launcher-reports.ts';

const NOW = new Date('2026-01-01T00:20:00Z');
const LATER = '2026-01-01T00:20:05Z';

function aReport(podIndex: number, changes: Partial<LauncherReport> = {}): LauncherReport {
  const whose = { jobUid: 'job-1', podUid: `pod-${podIndex}`, podIndex };
  return { ...whose, epoch: 1, incarnation: 0, state: 'waiting', ...changes };
}

interface Setup {
  readonly controller: LauncherController;
  /** What was sent since it was asked before, as `pod-0: assignment 1`. */
  sent(): readonly string[];
  /** What status records by now. */
  record(attempt: Partial<Attempt>, notBefore?: string): void;
  now: Date;
  monotonicMs: number;
  jobIsGone: boolean;
  /** UIDs of the pods that the cluster has, by their index. */
  readonly podUids: Map<number, string>;
}

function aSetup(): Setup {
  let gang: NewestGang | undefined;
  let messages: RankMessage[] = [];
  const controller = new LauncherController({
    gangOf: () => (it.jobIsGone ? 'gone' : gang),
    send: (message) => void messages.push(message),
    now: () => it.now,
    monotonicMs: () => it.monotonicMs,
  });
  const it: Setup = {
    controller,
    now: NOW,
    monotonicMs: 0,
    jobIsGone: false,
    podUids: new Map(),
    sent: () => {
      const lines = messages.map(({ podUid, message }) => `${podUid}: ${toLine(message)}`);
      messages = [];
      return lines;
    },
    record: (more, notBefore) => {
      const job = aTrainingJob(notBefore === undefined ? {} : { status: { notBefore } as never });
      const { layout } = aPlacement(job).spec;
      const startedAt = '2026-01-01T00:10:00Z';
      const attempt: Attempt = { epoch: 1, stage: 'Released', placement: 'p', layout, startedAt, ...more };
      const { spec: placement } = aPlacement(job, { epoch: attempt.epoch });
      gang = { job, attempt, placement, podUidOf: (podIndex) => it.podUids.get(podIndex) };
    },
  };
  it.record({});
  return it;
}

function toLine(message: RankMessage['message']): string {
  if (message.kind === 'saveWanted') return `save ${message.request}`;
  if (message.kind === 'verifyWanted') {
    return `verify ${message.checkpoints.map(({ path }) => path).join(', ')} for ${message.incarnation}`;
  }
  return message.kind === 'endRanks' ? `end ${message.incarnation}` : `begin ${message.assignment.incarnation}`;
}

const reaped = { state: 'reaped', incarnation: 1 } as const;
const running = { state: 'running', incarnation: 1 } as const;
const SAVE: EarlySave = {
  request: 1,
  incarnation: 1,
  askedAt: '2026-01-01T00:19:00Z',
  afterStep: 40,
  why: 'A node is suspect.',
  suspicions: ['a'],
};

describe('the desk of launchers', () => {
  it('gives each its ranks as it comes, again when it comes back, and not when it has them', () => {
    const setup = aSetup();
    setup.controller.receive([aReport(0)]);
    expect(setup.sent()).toEqual(['pod-0: begin 1']);
    setup.controller.receive([aReport(0)]);
    expect(setup.sent()).toEqual(['pod-0: begin 1']);
    setup.controller.receive([aReport(0, running), aReport(1)]);
    expect(setup.sent()).toEqual(['pod-1: begin 1']);
  });

  it('asks the one of rank 0, before its ranks, to verify the suspect checkpoints that the attempt passes over', () => {
    const setup = aSetup();
    const suspect = { checkpoint: 'c-40', step: 40, manifestSha256: 'a'.repeat(64), files: ['/c/x'], why: 'it is' };
    setup.record({ passedOver: [{ ...suspect, path: 'epoch-1/step-40' }] });
    setup.controller.receive([aReport(0), aReport(1)]);
    expect(setup.sent()).toEqual(['pod-0: verify epoch-1/step-40 for 1', 'pod-0: begin 1', 'pod-1: begin 1']);
    setup.controller.reconcileUnsettled();
    expect(setup.sent()).toEqual([]);
  });

  it('gives them once status is seen to allow it, however late it is seen', () => {
    const setup = aSetup();
    setup.record({ stage: 'Creating' });
    setup.controller.receive([aReport(0)]);
    expect(setup.sent()).toEqual([]);
    setup.record({});
    setup.controller.reconcileUnsettled();
    expect(setup.sent()).toEqual(['pod-0: begin 1']);
  });

  it('begins another incarnation when status records it, all have reaped and the pause is over', () => {
    const setup = aSetup();
    setup.controller.receive([aReport(0, running), aReport(1, reaped)]);
    expect(setup.sent()).toEqual([]);
    setup.record({ incarnation: 2 }, LATER);
    setup.controller.reconcile('job-1');
    expect(setup.sent()).toEqual(['pod-0: end 1']);
    setup.controller.receive([aReport(0, reaped)]);
    expect(setup.sent()).toEqual([]);
    setup.now = new Date(LATER);
    setup.controller.reconcileUnsettled();
    expect(setup.sent()).toEqual(['pod-0: begin 2', 'pod-1: begin 2']);
    setup.controller.receive([aReport(0, { ...running, incarnation: 2 }), aReport(1, { ...running, incarnation: 2 })]);
    setup.controller.receive([aReport(0, reaped)]);
    setup.controller.reconcileUnsettled();
    expect(setup.sent()).toEqual([]);
  });

  it('ends an incarnation also where it was given a moment ago and nothing was said of it, before the next one begins', () => {
    const setup = aSetup();
    setup.controller.receive([aReport(0), aReport(1)]);
    setup.controller.receive([aReport(0, reaped)]);
    setup.sent();
    setup.record({ incarnation: 2 });
    setup.controller.reconcile('job-1');
    expect(setup.sent()).toEqual(['pod-1: end 1']);
    // Under way since before it was given: says nothing of it.
    setup.controller.receive([aReport(1)]);
    expect(setup.sent()).toEqual(['pod-1: end 1']);
    setup.controller.receive([aReport(1, reaped)]);
    expect(setup.sent()).toEqual(['pod-0: begin 2', 'pod-1: begin 2']);
  });

  it('says the same again after 5 s alone, however often it looks, and at once where the launcher has spoken', () => {
    const setup = aSetup();
    setup.controller.receive([aReport(0)]);
    for (let look = 0; look < 24; look += 1) {
      setup.monotonicMs += 200;
      setup.controller.reconcileUnsettled();
    }
    expect(setup.sent()).toEqual(['pod-0: begin 1']);
    setup.monotonicMs += 200;
    setup.controller.reconcileUnsettled();
    expect(setup.sent()).toEqual(['pod-0: begin 1']);
    setup.controller.receive([aReport(0)]);
    expect(setup.sent()).toEqual(['pod-0: begin 1']);
  });

  it('has the ranks save when status records that they are to, through the launcher of rank 0, and again where that comes back', () => {
    const setup = aSetup();
    setup.controller.receive([aReport(0, running), aReport(1, running)]);
    setup.record({ earlySave: SAVE });
    setup.controller.reconcile('job-1');
    setup.controller.reconcileUnsettled();
    setup.controller.receive([aReport(1, running)]);
    expect(setup.sent()).toEqual(['pod-0: save 1']);
    setup.controller.receive([aReport(0, running)]);
    expect(setup.sent()).toEqual(['pod-0: save 1']);
    setup.record({ earlySave: { ...SAVE, request: 2 } });
    setup.controller.reconcile('job-1');
    expect(setup.sent()).toEqual(['pod-0: save 2']);
    setup.record({ earlySave: { ...SAVE, request: 2, outcome: 'Saved' } });
    setup.controller.receive([aReport(0, running)]);
    expect(setup.sent()).toEqual([]);
  });

  it('counts one launcher for each pod: that of the pod which the cluster has under its name', () => {
    const setup = aSetup();
    setup.podUids.set(0, 'pod-0');
    setup.podUids.set(1, 'pod-1');
    setup.controller.receive([aReport(0, reaped), aReport(1, running), aReport(1, { ...reaped, podUid: 'forged' })]);
    setup.record({ incarnation: 2 });
    setup.controller.reconcile('job-1');
    expect(setup.sent()).toEqual(['pod-1: end 1']);
    expect([...setup.controller.ofJob('job-1').keys()]).toEqual(['pod-0', 'pod-1']);
  });

  it('counts the launcher that came last where the cluster shows no pod of that name yet', () => {
    const { controller } = aSetup();
    controller.receive([aReport(1), aReport(1, { podUid: 'newer' })]);
    expect([...controller.ofJob('job-1').keys()]).toEqual(['newer']);
  });

  it('remembers nothing of a job that is gone, also where a word of it comes late', () => {
    const setup = aSetup();
    setup.controller.receive([aReport(0)]);
    setup.jobIsGone = true;
    setup.controller.forget('job-1');
    setup.controller.receive([aReport(1)]);
    expect([setup.controller.size, [...setup.controller.ofJob('job-1')]]).toEqual([0, []]);
  });

  it('tells of ranks that have ended, and of a later incarnation that runs, once', () => {
    const { controller } = aSetup();
    const again = { ...running, incarnation: 2 };
    expect(controller.receive([aReport(0), aReport(1, running)])).toEqual([]);
    expect(controller.receive([aReport(0, reaped), aReport(1, reaped)])).toEqual(['job-1']);
    expect(controller.receive([aReport(0, reaped)])).toEqual([]);
    expect(controller.receive([aReport(0, again)])).toEqual(['job-1']);
    expect(controller.receive([aReport(0, again)])).toEqual([]);
  });

  it('waits no longer for a pause than any lasts, whatever the clock that wrote it', () => {
    const setup = aSetup();
    setup.controller.receive([aReport(0, reaped), aReport(1, reaped)]);
    setup.record({ incarnation: 2 }, '2026-01-01T01:20:05Z');
    setup.controller.reconcile('job-1');
    expect(setup.sent()).toEqual(['pod-0: begin 2', 'pod-1: begin 2']);
  });

  it('shows what each said last, of the newest epoch alone, and forgets a job that is gone', () => {
    const setup = aSetup();
    setup.controller.receive([aReport(0, running), aReport(1, { epoch: 2 }), aReport(0, reaped)]);
    expect([...setup.controller.ofJob('job-1')]).toEqual([
      ['pod-1', { podIndex: 1, epoch: 2, incarnation: 0, state: 'waiting' }],
    ]);
    setup.controller.forget('job-1');
    expect(setup.controller.size).toBe(0);
  });
});
