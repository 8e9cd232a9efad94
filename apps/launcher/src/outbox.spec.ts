import { MAX_WAITING_STEPS, Outbox, type Draft } from './outbox.ts';

function aStep(step: number): Draft {
  return { kind: 'step', step, loss: null, tokens: null, learningRate: null, gradNorm: null, ranks: [] };
}

function aCheckpoint(step: number): Draft {
  const directory = `step-${step}`;
  const manifestSha256 = 'a'.repeat(64);
  return { kind: 'checkpointSaved', checkpoint: { step, directory, format: 'x', bytes: 1, files: 1, manifestSha256 } };
}

const aHeartbeat: Draft = { kind: 'heartbeat', ranks: [] };

/** Takes everything that waits, in order, from sequence `first` on. */
function takeAll(outbox: Outbox, first = 1): Draft[] {
  const taken: Draft[] = [];
  for (let draft = outbox.take(first); draft !== undefined; draft = outbox.take(first + taken.length))
    taken.push(draft);
  return taken;
}

describe('the outbox', () => {
  it('gives messages in the order in which they came', () => {
    const outbox = new Outbox();
    for (const draft of [aStep(1), aCheckpoint(1), aStep(2)]) outbox.add(draft);
    expect(takeAll(outbox)).toEqual([aStep(1), aCheckpoint(1), aStep(2)]);
  });

  it('tells on a new connection only what is important and was not acknowledged', () => {
    const outbox = new Outbox();
    for (const draft of [aCheckpoint(1), aStep(1), aCheckpoint(2), { kind: 'resumed', step: 1 } as const])
      outbox.add(draft);
    takeAll(outbox);
    outbox.acknowledge(1);
    outbox.reconnected();
    expect(takeAll(outbox, 10)).toEqual([aCheckpoint(2), { kind: 'resumed', step: 1 }]);
    expect(outbox.isSettled).toBe(false);
    outbox.acknowledge(10);
    outbox.acknowledge(11);
    expect(outbox.isSettled).toBe(true);
  });

  it('is not settled by an acknowledgement from before the connection broke', () => {
    const outbox = new Outbox();
    outbox.add(aCheckpoint(1));
    takeAll(outbox);
    outbox.reconnected();
    outbox.acknowledge(1);
    expect(outbox.isSettled).toBe(false);
  });

  it('keeps one heartbeat, the newest', () => {
    const outbox = new Outbox();
    outbox.add(aHeartbeat);
    outbox.add({ kind: 'heartbeat', ranks: [{ rank: 0, alive: true, step: 4 }] });
    expect(takeAll(outbox)).toEqual([{ kind: 'heartbeat', ranks: [{ rank: 0, alive: true, step: 4 }] }]);
  });

  it('sheds the oldest steps, never a checkpoint, and counts them', () => {
    const outbox = new Outbox();
    outbox.add(aCheckpoint(1));
    for (let step = 1; step <= MAX_WAITING_STEPS + 5; step += 1) outbox.add(aStep(step));
    const taken = takeAll(outbox);
    expect(taken).toHaveLength(1 + MAX_WAITING_STEPS);
    expect(taken.slice(0, 2)).toEqual([aCheckpoint(1), aStep(6)]);
    expect(outbox.shedSteps).toBe(5);
  });

  it('names the checkpoints that nobody acknowledged', () => {
    const outbox = new Outbox();
    for (const step of [1, 2, 3]) outbox.add(aCheckpoint(step));
    takeAll(outbox);
    outbox.acknowledge(2);
    expect(outbox.unreportedCheckpoints.map(({ step }) => step)).toEqual([1, 3]);
  });
});
