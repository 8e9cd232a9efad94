import { type Outage, StorageWorld } from './testing/storage-world.ts';

const MINUTE = 60_000;

describe('an outage of storage', () => {
  it.each<[string, Outage, number]>([
    ['of a minute in which nothing can be read', 'down', MINUTE],
    ['of a minute in which data cannot be read, though a control file can', 'partial', MINUTE],
    ['of 20 minutes in which nothing can be read', 'down', 20 * MINUTE],
    ['of 20 minutes in which data cannot be read, though a control file can', 'partial', 20 * MINUTE],
  ])('%s condemns none of five checkpoints, and the job resumes from the newest', async (_what, kind, ms) => {
    const storage = new StorageWorld();
    storage.begin(kind, ms);
    await storage.untilItTrains();
    expect(storage.steps('Damaged')).toEqual([]);
    expect(storage.world.job.status).toMatchObject({ state: 'Running', restarts: { charged: 0 } });
    expect(storage.attempt?.resumedFrom?.step).toBe(500);
  });

  it.each([7, 13, 29, 47, 71, 113])(
    'that ends after %i s, whatever is being verified at that time, costs no step',
    async (seconds) => {
      const storage = new StorageWorld();
      storage.begin('partial', seconds * 1000);
      await storage.untilItTrains();
      expect(storage.attempt?.resumedFrom?.step).toBe(500);
    },
  );

  it('that does not end makes the job wait for a user, with the claim by its name and no checkpoint condemned', async () => {
    const storage = new StorageWorld();
    storage.begin('down', Infinity);
    await storage.untilItTrains();
    expect(storage.steps('Damaged')).toEqual([]);
    const placed = storage.world.job.status?.conditions?.find(({ type }) => type === 'Placed');
    expect(placed?.message).toMatch(
      /Claim checkpoints could not be read on node-a, node-b, so no checkpoint is blamed/,
    );
    expect(storage.world.job.status).toMatchObject({ state: 'Queued', restarts: { charged: 0 } });
  });
});

describe('a checkpoint', () => {
  it('with a shard whose bits were flipped is condemned by two nodes, and the job falls back by one', async () => {
    const storage = new StorageWorld();
    storage.flipped.add(500);
    await storage.untilItTrains();
    expect(storage.steps('Damaged')).toEqual([500]);
    expect(storage.attempt?.resumedFrom?.step).toBe(400);
    expect(storage.world.job.status).toMatchObject({ state: 'Running', checkpoint: { step: 400 } });
  });

  it('with a file that cannot be read is passed over and suspect, and is used as soon as it verifies', async () => {
    const storage = new StorageWorld();
    storage.unreadable.add(500);
    await storage.untilItTrains();
    expect([storage.steps('Damaged'), storage.steps('suspect')]).toEqual([[], [500]]);
    expect(storage.attempt).toMatchObject({ resumedFrom: { step: 400 }, passedOver: [{ step: 500 }] });
    storage.unreadable.clear();
    storage.failed.add(storage.attempt?.epoch ?? 0);
    await storage.untilItTrains();
    expect(storage.attempt?.resumedFrom?.step).toBe(500);
    expect(storage.steps('suspect')).toEqual([]);
    expect(storage.world.job.status?.attempts?.at(-2)).toMatchObject({ charged: false, resumedFrom: { step: 400 } });
  });
});
