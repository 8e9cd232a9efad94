import type { Attempt, EarlySave } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { LauncherDesk, type NewestGang, type RankMail } from './launcher-controller.ts';
import type { LauncherWord } from '../ingest/launcher-reports.ts';

const NOW = new Date('2026-01-01T00:20:00Z');
const LATER = '2026-01-01T00:20:05Z';

function word(podIndex: number, said: Partial<LauncherWord> = {}): LauncherWord {
  const whose = { jobUid: 'job-1', podUid: `pod-${podIndex}`, podIndex };
  return { ...whose, epoch: 1, incarnation: 0, state: 'waiting', ...said };
}

interface Desk {
  readonly desk: LauncherDesk;
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

function aDesk(): Desk {
  let gang: NewestGang | undefined;
  let mails: RankMail[] = [];
  const desk = new LauncherDesk({
    gangOf: () => (it.jobIsGone ? 'gone' : gang),
    send: (mail) => void mails.push(mail),
    now: () => it.now,
    monotonicMs: () => it.monotonicMs,
  });
  const it: Desk = {
    desk,
    now: NOW,
    monotonicMs: 0,
    jobIsGone: false,
    podUids: new Map(),
    sent: () => {
      const lines = mails.map(({ podUid, message }) => `${podUid}: ${toLine(message)}`);
      mails = [];
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

function toLine(message: RankMail['message']): string {
  if (message.kind === 'saveWanted') return `save ${message.request}`;
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
    const desk = aDesk();
    desk.desk.hear([word(0)]);
    expect(desk.sent()).toEqual(['pod-0: begin 1']);
    desk.desk.hear([word(0)]);
    expect(desk.sent()).toEqual(['pod-0: begin 1']);
    desk.desk.hear([word(0, running), word(1)]);
    expect(desk.sent()).toEqual(['pod-1: begin 1']);
  });

  it('gives them once status is seen to allow it, however late it is seen', () => {
    const desk = aDesk();
    desk.record({ stage: 'Creating' });
    desk.desk.hear([word(0)]);
    expect(desk.sent()).toEqual([]);
    desk.record({});
    desk.desk.lookAgain();
    expect(desk.sent()).toEqual(['pod-0: begin 1']);
  });

  it('begins another incarnation when status records it, all have reaped and the pause is over', () => {
    const desk = aDesk();
    desk.desk.hear([word(0, running), word(1, reaped)]);
    expect(desk.sent()).toEqual([]);
    desk.record({ incarnation: 2 }, LATER);
    desk.desk.look('job-1');
    expect(desk.sent()).toEqual(['pod-0: end 1']);
    desk.desk.hear([word(0, reaped)]);
    expect(desk.sent()).toEqual([]);
    desk.now = new Date(LATER);
    desk.desk.lookAgain();
    expect(desk.sent()).toEqual(['pod-0: begin 2', 'pod-1: begin 2']);
    desk.desk.hear([word(0, { ...running, incarnation: 2 }), word(1, { ...running, incarnation: 2 })]);
    desk.desk.hear([word(0, reaped)]);
    desk.desk.lookAgain();
    expect(desk.sent()).toEqual([]);
  });

  it('ends an incarnation also where it was given a moment ago and nothing was said of it, before the next one begins', () => {
    const desk = aDesk();
    desk.desk.hear([word(0), word(1)]);
    desk.desk.hear([word(0, reaped)]);
    desk.sent();
    desk.record({ incarnation: 2 });
    desk.desk.look('job-1');
    expect(desk.sent()).toEqual(['pod-1: end 1']);
    // Under way since before it was given: says nothing of it.
    desk.desk.hear([word(1)]);
    expect(desk.sent()).toEqual(['pod-1: end 1']);
    desk.desk.hear([word(1, reaped)]);
    expect(desk.sent()).toEqual(['pod-0: begin 2', 'pod-1: begin 2']);
  });

  it('says the same again after 5 s alone, however often it looks, and at once where the launcher has spoken', () => {
    const desk = aDesk();
    desk.desk.hear([word(0)]);
    for (let look = 0; look < 24; look += 1) {
      desk.monotonicMs += 200;
      desk.desk.lookAgain();
    }
    expect(desk.sent()).toEqual(['pod-0: begin 1']);
    desk.monotonicMs += 200;
    desk.desk.lookAgain();
    expect(desk.sent()).toEqual(['pod-0: begin 1']);
    desk.desk.hear([word(0)]);
    expect(desk.sent()).toEqual(['pod-0: begin 1']);
  });

  it('has the ranks save when status records that they are to, through the launcher of rank 0, and again where that comes back', () => {
    const desk = aDesk();
    desk.desk.hear([word(0, running), word(1, running)]);
    desk.record({ earlySave: SAVE });
    desk.desk.look('job-1');
    desk.desk.lookAgain();
    desk.desk.hear([word(1, running)]);
    expect(desk.sent()).toEqual(['pod-0: save 1']);
    desk.desk.hear([word(0, running)]);
    expect(desk.sent()).toEqual(['pod-0: save 1']);
    desk.record({ earlySave: { ...SAVE, request: 2 } });
    desk.desk.look('job-1');
    expect(desk.sent()).toEqual(['pod-0: save 2']);
    desk.record({ earlySave: { ...SAVE, request: 2, outcome: 'Saved' } });
    desk.desk.hear([word(0, running)]);
    expect(desk.sent()).toEqual([]);
  });

  it('counts one launcher for each pod: that of the pod which the cluster has under its name', () => {
    const desk = aDesk();
    desk.podUids.set(0, 'pod-0');
    desk.podUids.set(1, 'pod-1');
    desk.desk.hear([word(0, reaped), word(1, running), word(1, { ...reaped, podUid: 'forged' })]);
    desk.record({ incarnation: 2 });
    desk.desk.look('job-1');
    expect(desk.sent()).toEqual(['pod-1: end 1']);
    expect([...desk.desk.ofJob('job-1').keys()]).toEqual(['pod-0', 'pod-1']);
  });

  it('counts the launcher that came last where the cluster shows no pod of that name yet', () => {
    const { desk } = aDesk();
    desk.hear([word(1), word(1, { podUid: 'newer' })]);
    expect([...desk.ofJob('job-1').keys()]).toEqual(['newer']);
  });

  it('remembers nothing of a job that is gone, also where a word of it comes late', () => {
    const desk = aDesk();
    desk.desk.hear([word(0)]);
    desk.jobIsGone = true;
    desk.desk.forget('job-1');
    desk.desk.hear([word(1)]);
    expect([desk.desk.size, [...desk.desk.ofJob('job-1')]]).toEqual([0, []]);
  });

  it('tells of ranks that have ended, and of a later incarnation that runs, once', () => {
    const { desk } = aDesk();
    const again = { ...running, incarnation: 2 };
    expect(desk.hear([word(0), word(1, running)])).toEqual([]);
    expect(desk.hear([word(0, reaped), word(1, reaped)])).toEqual(['job-1']);
    expect(desk.hear([word(0, reaped)])).toEqual([]);
    expect(desk.hear([word(0, again)])).toEqual(['job-1']);
    expect(desk.hear([word(0, again)])).toEqual([]);
  });

  it('waits no longer for a pause than any lasts, whatever the clock that wrote it', () => {
    const desk = aDesk();
    desk.desk.hear([word(0, reaped), word(1, reaped)]);
    desk.record({ incarnation: 2 }, '2026-01-01T01:20:05Z');
    desk.desk.look('job-1');
    expect(desk.sent()).toEqual(['pod-0: begin 2', 'pod-1: begin 2']);
  });

  it('shows what each said last, of the newest epoch alone, and forgets a job that is gone', () => {
    const desk = aDesk();
    desk.desk.hear([word(0, running), word(1, { epoch: 2 }), word(0, reaped)]);
    expect([...desk.desk.ofJob('job-1')]).toEqual([
      ['pod-1', { podIndex: 1, epoch: 2, incarnation: 0, state: 'waiting' }],
    ]);
    desk.desk.forget('job-1');
    expect(desk.desk.size).toBe(0);
  });
});
