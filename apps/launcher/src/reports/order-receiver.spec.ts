import type { RankAssignment } from '@coxswain/api-types';
import { IncarnationTracker } from './incarnation-tracker.ts';
import { OrderReceiver } from './order-receiver.ts';

const EPOCH = 2;
const assignment = (incarnation: number, epoch = EPOCH): RankAssignment => ({
  epoch,
  incarnation,
  podIndex: 0,
  podCount: 1,
  ranks: '0-1',
  worldSize: 2,
});
const order = (incarnation: number, epoch = EPOCH) =>
  ({ kind: 'assignment', assignment: assignment(incarnation, epoch) }) as const;
const endRanks = (incarnation: number) => ({ kind: 'endRanks', epoch: EPOCH, incarnation, message: 'why' }) as const;
const saveWanted = (incarnation: number) =>
  ({ kind: 'saveWanted', epoch: EPOCH, incarnation, request: 1, why: 'A node is suspected.' }) as const;

function launcher(running?: number) {
  const incarnations = new IncarnationTracker();
  if (running !== undefined) incarnations.begin(assignment(running));
  const effects: string[] = [];
  const orders = new OrderReceiver({
    epoch: EPOCH,
    incarnations,
    onEndRanks: (message) => effects.push(`end: ${message}`),
    onSkipped: () => effects.push('skipped'),
    onSaveWanted: ({ incarnation }) => effects.push(`save ${incarnation}`),
  });
  return { incarnations, orders, effects };
}

describe('an order', () => {
  it.each([
    ['to end the ranks that run ends them', 1, endRanks(1), ['end: why'], 1],
    ['to end ranks that never started here skips them', undefined, endRanks(3), ['skipped'], 3],
    ['to end later ranks than those that run leaves these alone', 1, endRanks(2), [], 1],
    ['to save reaches the ranks that run', 1, saveWanted(1), ['save 1'], 1],
    ['to save does not reach other ranks', 1, saveWanted(2), [], 1],
    ['that assigns later ranks ends those that run', 1, order(2), ['end: incarnation 2 begins'], 1],
    ['that assigns ranks of another attempt is ignored', 1, order(2, EPOCH + 1), [], 1],
    ['of another attempt is ignored', 1, { ...endRanks(1), epoch: EPOCH + 1 }, [], 1],
  ])('%s', (_what, running, received, ...[effects, latest]) => {
    const pod = launcher(running);
    pod.orders.receive(received);
    expect(pod.effects).toEqual(effects);
    expect(pod.incarnations.latestIncarnation).toBe(latest);
  });
});

describe('a launcher that waits for ranks', () => {
  it('gets the next assignment, and never one that it has run or skipped', async () => {
    const { incarnations, orders } = launcher();
    const first = orders.nextAssignment();
    orders.receive(order(1));
    expect((await first).incarnation).toBe(1);
    incarnations.begin(assignment(1));
    const next = orders.nextAssignment();
    orders.receive(order(1));
    incarnations.reap();
    orders.receive(endRanks(2));
    orders.receive(order(2));
    orders.receive(order(3));
    expect((await next).incarnation).toBe(3);
  });

  it('gets the address of its own incarnation alone', async () => {
    const { orders } = launcher();
    const address = orders.addressOf(2);
    orders.receive({ kind: 'rendezvous', address: '10.0.0.1:1', incarnation: 1 });
    orders.receive({ kind: 'rendezvous', address: '10.0.0.1:2', incarnation: 2 });
    expect(await address).toBe('10.0.0.1:2');
  });
});
