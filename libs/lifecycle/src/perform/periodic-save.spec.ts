import type { ClaimChoice } from '@coxswain/scheduling';
import { PriorityTown } from '../testing/room-for-others.ts';

const SECONDS = 100;

/** A low job whose engine saves by its own count of steps alone, and a high one for which it is to stop after its next save. */
function aTown(): PriorityTown {
  const town = new PriorityTown([
    {
      name: 'low',
      className: 'low',
      spec: { engine: { name: 'deepspeed', image: 'trainer', command: ['python', 'train.py'] } },
    },
    { name: 'high', className: 'high' },
  ]);
  town.train('low');
  const { makeRoom } = town.cluster;
  town.cluster.makeRoom = (job, request): ClaimChoice => {
    const choice = makeRoom?.(job, request) ?? { kind: 'none', reason: '' };
    if (choice.kind === 'none') return choice;
    const waits = { savesWhenAsked: false, waitsForSave: { seconds: SECONDS, afterStep: 20 } };
    return { ...choice, victims: choice.victims.map((victim) => ({ ...victim, ...waits })) };
  };
  town.until(() => town.job('high').status?.claim?.state === 'Asking', 'high', 'low');
  return town;
}

const stage = (town: PriorityTown): string | undefined => town.job('low').status?.attempts?.at(-1)?.stage;

describe('a job that is to make room after its own next save', () => {
  it('trains on until the save is recorded, and stops then', () => {
    const town = aTown();
    town.reconcile('low');
    town.tick(30_000);
    town.reconcile('low');
    expect([stage(town), town.job('low').status?.attempts?.at(-1)?.earlySave]).toEqual(['Released', undefined]);
    town.world('low').apply({ kind: 'saveCheckpoint', pick: 5_000 });
    town.until(() => stage(town) !== 'Released', 'low');
    expect(town.job('low').status?.attempts?.at(-1)).toMatchObject({ reason: 'MadeRoom' });
    expect(town.allViolations()).toEqual([]);
  });

  it('stops a minute after the expected time if it does not save', () => {
    const town = aTown();
    const askedMs = town.nowMs;
    town.until(() => stage(town) !== 'Released', 'low');
    expect(town.nowMs - askedMs).toBeGreaterThanOrEqual((SECONDS + 60) * 1_000);
    expect(town.nowMs - askedMs).toBeLessThan((SECONDS + 90) * 1_000);
  });
});
