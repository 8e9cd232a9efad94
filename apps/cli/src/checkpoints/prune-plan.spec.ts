import { savesBelow } from '@coxswain/checkpoint';
import { MemoryStore } from '@coxswain/checkpoint-store/testing';
import { deletePlanned, type PlannedSave } from './prune-plan.ts';

const session = { signal: new AbortController().signal };

/** A plan that deletes step-1 and keeps the verified step-2. Resolves to what becomes of step-1 if `change` comes in between. */
async function afterwards(change: (files: Map<string, Uint8Array>) => void): Promise<PlannedSave | undefined> {
  const store = new MemoryStore({ 'step-1/.metadata': Buffer.from('1'), 'step-2/.metadata': Buffer.from('2') });
  const below = savesBelow(await store.list());
  const saves = below.map(({ name, step }) => ({
    ...{ name, step, because: [] },
    ...{ verdict: 'sound' as const, action: step === 1 ? ('delete' as const) : ('keep' as const) },
  }));
  change(store.files);
  const [first] = await deletePlanned(session, { store, below, saves });
  expect(store.files.has('step-1/.metadata')).toBe(first?.action !== 'deleted');
  return first;
}

describe('a save that a plan deletes', () => {
  it.each<[string, (files: Map<string, Uint8Array>) => void, PlannedSave['action'], readonly string[]]>([
    ['is deleted if nothing changed', () => undefined, 'deleted', []],
    [
      'is deleted though another save arrived',
      (files) => files.set('step-3/.metadata', Buffer.from('3')),
      'deleted',
      [],
    ],
    [
      'stays if something wrote to it',
      (files) => files.set('step-1/__0_0.distcp', Buffer.from('x')),
      'changed',
      ['its files changed after this command read them'],
    ],
    [
      'stays if an engine now names it',
      (files) => files.set('latest_checkpointed_iteration.txt', Buffer.from('1')),
      'changed',
      ['file latest_checkpointed_iteration.txt names it'],
    ],
    [
      'stays if the save that stays for it is gone',
      (files) => files.delete('step-2/.metadata'),
      'changed',
      ['a save that stays changed: run this again'],
    ],
  ])('%s', async (_what, change, action, because) => {
    expect(await afterwards(change)).toMatchObject({ action, because });
  });
});
