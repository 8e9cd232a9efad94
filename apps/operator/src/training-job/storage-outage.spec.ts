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

  it.each<[Outage, RegExp]>([
    ['down', /Claim checkpoints could not be read on node-a, node-b, so no checkpoint is blamed/],
    ['partial', /A file of checkpoint \S+ on claim checkpoints could not be read on node-a, node-b/],
  ])('of an hour (%s) makes the job wait for the claim by its name, and go on without a user', async (kind, why) => {
    const storage = new StorageWorld();
    storage.begin(kind, 60 * MINUTE);
    const waited = await storage.untilItTrains();
    expect(storage.steps('Damaged')).toEqual([]);
    expect(waited.filter((message) => why.test(message)).length).toBeGreaterThan(11);
    expect(waited.at(-1)).toContain('The job tries again until storage can be read.');
    expect(storage.world.job.status).toMatchObject({ state: 'Running', restarts: { charged: 0 } });
    expect(storage.attempt?.resumedFrom?.step).toBe(500);
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

  it('that two nodes found damaged is verified again an hour later, and used without a user once its content is right', async () => {
    const storage = new StorageWorld();
    storage.flipped.add(500);
    await storage.untilItTrains();
    storage.world.nowMs += 61 * MINUTE;
    storage.failed.add(storage.attempt?.epoch ?? 0);
    await storage.untilItTrains();
    expect(storage.attempt).toMatchObject({ resumedFrom: { step: 400 }, passedOver: [{ step: 500 }] });
    expect(storage.steps('Damaged')).toEqual([500]);
    storage.flipped.clear();
    storage.failed.add(storage.attempt?.epoch ?? 0);
    await storage.untilItTrains();
    expect(storage.attempt?.resumedFrom?.step).toBe(400);
    storage.world.nowMs += 61 * MINUTE;
    storage.failed.add(storage.attempt?.epoch ?? 0);
    await storage.untilItTrains();
    expect(storage.attempt?.resumedFrom?.step).toBe(500);
    expect(storage.steps('Damaged')).toEqual([]);
  });

  it('that is the only one and has a file that cannot be read makes the job wait for a user after ten tries, and stays', async () => {
    const storage = new StorageWorld([500]);
    storage.unreadable.add(500);
    const waited = await storage.untilItTrains();
    expect(waited.at(-1)).toContain('If no attempt reads the file in 10 tries in a row, the job waits for a user.');
    const { status } = storage.world.job;
    expect(status).toMatchObject({ restarts: { total: 10, charged: 0 } });
    expect(status?.summary).toMatch(
      /^File \S+step-500\/rank-1\.bin of checkpoint \S+-s500 could not be read in 10 attempts/,
    );
    expect([storage.checkpoints.length, storage.steps('Damaged')]).toEqual([1, []]);
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
