import { BackgroundSync } from './background-sync.ts';

const MIB = 1 << 20;

/** A file whose syncs end when the test says so. */
function aFile() {
  const syncs: PromiseWithResolvers<void>[] = [];
  const datasync = (): Promise<void> => {
    syncs.push(Promise.withResolvers<void>());
    return syncs.at(-1)?.promise ?? Promise.resolve();
  };
  return { syncs, datasync };
}

describe('a file that is synced while it is written', () => {
  it('begins once enough is written, and goes on when the sync before has ended', async () => {
    const file = aFile();
    const drain = new BackgroundSync(file);
    drain.wrote(31 * MIB);
    expect(file.syncs).toHaveLength(0);
    drain.wrote(MIB);
    drain.wrote(40 * MIB);
    expect(file.syncs).toHaveLength(1);
    file.syncs[0]?.resolve();
    await drain.end();
    drain.wrote(1);
    expect(file.syncs).toHaveLength(2);
    file.syncs[1]?.resolve();
    await drain.end();
  });

  it('waits while another file is synced: threads are few', async () => {
    const [one, other] = [aFile(), aFile()];
    const [first, second] = [new BackgroundSync(one), new BackgroundSync(other)];
    first.wrote(32 * MIB);
    second.wrote(32 * MIB);
    expect(other.syncs).toHaveLength(0);
    one.syncs[0]?.resolve();
    await first.end();
    second.wrote(1);
    expect(other.syncs).toHaveLength(1);
    other.syncs[0]?.resolve();
    await second.end();
  });

  it('fails at its end with the error of a sync before, which the kernel reports once', async () => {
    const file = aFile();
    const drain = new BackgroundSync(file);
    drain.wrote(32 * MIB);
    file.syncs[0]?.reject(new Error('EIO'));
    await expect(drain.end()).rejects.toThrow('EIO');
    drain.wrote(32 * MIB);
    file.syncs[1]?.resolve();
    await expect(drain.end()).rejects.toThrow('EIO');
  });

  it('has nothing to wait for if little was written', async () => {
    await expect(new BackgroundSync(aFile()).end()).resolves.toBeUndefined();
  });
});
