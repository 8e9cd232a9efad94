import { aVerification } from '@coxswain/api-types/testing';
import { MAX_WAITING_STEPS, PendingReports, type Draft } from './pending-reports.ts';

function aStep(step: number): Draft {
  return { kind: 'step', report: { step, loss: null, tokens: null, learningRate: null, gradNorm: null, ranks: [] } };
}

function aCheckpoint(step: number): Draft {
  const directory = `step-${step}`;
  const manifestSha256 = 'a'.repeat(64);
  return { kind: 'checkpointSaved', checkpoint: { step, directory, format: 'x', bytes: 1, files: 1, manifestSha256 } };
}

const aHeartbeat: Draft = { kind: 'heartbeat', ranks: [] };

/** Takes everything that waits, in order, from sequence `first` on. */
function takeAll(pending: PendingReports, first = 1): Draft[] {
  const taken: Draft[] = [];
  for (let draft = pending.take(first); draft !== undefined; draft = pending.take(first + taken.length))
    taken.push(draft);
  return taken;
}

describe('pending reports', () => {
  it('gives messages in the order in which they came', () => {
    const pending = new PendingReports();
    for (const draft of [aStep(1), aCheckpoint(1), aStep(2)]) pending.add(draft);
    expect(takeAll(pending)).toEqual([aStep(1), aCheckpoint(1), aStep(2)]);
  });

  it('gives the steps that wait as one message where they are gathered, and keeps them where it is too early', () => {
    const pending = new PendingReports();
    for (const draft of [aStep(1), aCheckpoint(1), aStep(2)]) pending.add(draft);
    expect(pending.take(1, 'later')).toEqual(aCheckpoint(1));
    expect(pending.take(2, 'later')).toBeUndefined();
    expect(pending.take(2, 'gathered')).toMatchObject({ kind: 'steps', reports: [{ step: 1 }, { step: 2 }] });
    expect(pending.take(3, 'gathered')).toBeUndefined();
  });

  it('gathers only steps of one incarnation, and says of which', () => {
    const pending = new PendingReports();
    for (const [step, incarnation] of [
      [1, 1],
      [2, 1],
      [1, 2],
    ] as const)
      pending.add({ ...aStep(step), incarnation, state: 'running' });
    const gathered = { kind: 'steps', state: 'running' };
    expect(pending.take(1, 'gathered')).toMatchObject({
      ...gathered,
      incarnation: 1,
      reports: [{ step: 1 }, { step: 2 }],
    });
    expect(pending.take(2, 'gathered')).toMatchObject({ ...gathered, incarnation: 2, reports: [{ step: 1 }] });
  });

  it('tells nothing of a look at the pod once its ranks start, be it told and unheard or not', () => {
    const pending = new PendingReports();
    pending.add({ kind: 'preflightBoard', address: '10.0.0.1:7', key: 'k' });
    expect(pending.take(1)).toMatchObject({ kind: 'preflightBoard' });
    pending.add({ kind: 'preflight', report: { outcome: 'Done', facts: {}, pairs: [], tookMs: 1 } });
    pending.add(aCheckpoint(1));
    pending.forgetPreflight();
    pending.reconnected();
    expect(takeAll(pending)).toEqual([aCheckpoint(1)]);
  });

  it('tells what is trained until it is heard, and only what was said last', () => {
    const pending = new PendingReports();
    const facts = { backend: null, mesh: [], groups: [], wrappers: [], parameterBytes: 1, optimizerBytes: 2 };
    for (const worldSize of [1, 2]) pending.add({ kind: 'trained', rank: 0, facts: { ...facts, worldSize } });
    for (const _ of [1, 2]) {
      expect(takeAll(pending)).toMatchObject([{ kind: 'trained', facts: { worldSize: 2 } }]);
      pending.reconnected();
    }
  });

  it('tells before all else that the ranks are gone, and not that they still run', () => {
    const pending = new PendingReports();
    for (const draft of [aCheckpoint(1), aHeartbeat]) pending.add(draft);
    pending.add({ kind: 'reaped' });
    expect(takeAll(pending)).toEqual([{ kind: 'reaped' }, aCheckpoint(1)]);
    pending.reconnected();
    pending.add({ kind: 'reaped' });
    pending.add(aHeartbeat);
    expect(takeAll(pending, 10)).toEqual([{ kind: 'reaped' }, aCheckpoint(1), aHeartbeat]);
  });

  it('tells on a new connection only what is important and was not acknowledged', () => {
    const pending = new PendingReports();
    for (const draft of [aCheckpoint(1), aStep(1), aCheckpoint(2), { kind: 'resumed', step: 1 } as const])
      pending.add(draft);
    takeAll(pending);
    pending.acknowledge(1);
    pending.reconnected();
    expect(takeAll(pending, 10)).toEqual([aCheckpoint(2), { kind: 'resumed', step: 1 }]);
    expect(pending.isSettled).toBe(false);
    pending.acknowledge(10);
    pending.acknowledge(11);
    expect(pending.isSettled).toBe(true);
  });

  it('is not settled by an acknowledgement from before the connection broke', () => {
    const pending = new PendingReports();
    pending.add(aCheckpoint(1));
    takeAll(pending);
    pending.reconnected();
    pending.acknowledge(1);
    expect(pending.isSettled).toBe(false);
  });

  it('keeps one heartbeat, the newest', () => {
    const pending = new PendingReports();
    pending.add(aHeartbeat);
    pending.add({ kind: 'heartbeat', ranks: [{ rank: 0, alive: true, step: 4 }] });
    expect(takeAll(pending)).toEqual([{ kind: 'heartbeat', ranks: [{ rank: 0, alive: true, step: 4 }] }]);
  });

  it('sheds the oldest steps, never a checkpoint, and counts them', () => {
    const pending = new PendingReports();
    pending.add(aCheckpoint(1));
    for (let step = 1; step <= MAX_WAITING_STEPS + 5; step += 1) pending.add(aStep(step));
    const taken = takeAll(pending);
    expect(taken).toHaveLength(1 + MAX_WAITING_STEPS);
    expect(taken.slice(0, 2)).toEqual([aCheckpoint(1), aStep(6)]);
    expect(pending.shedSteps).toBe(5);
  });

  it('names the checkpoints that nobody acknowledged', () => {
    const pending = new PendingReports();
    for (const step of [1, 2, 3]) pending.add(aCheckpoint(step));
    takeAll(pending);
    pending.acknowledge(2);
    expect(pending.unreportedCheckpointsOf(1).map(({ step }) => step)).toEqual([1, 3]);
  });

  it('names unreported checkpoints without what their bytes say, because a termination message is short', () => {
    const pending = new PendingReports();
    const draft = aCheckpoint(1) as Extract<Draft, { kind: 'checkpointSaved' }>;
    pending.add({ ...draft, checkpoint: { ...draft.checkpoint, verification: aVerification() } });
    expect(pending.unreportedCheckpointsOf(1)).toEqual([draft.checkpoint]);
  });
});
