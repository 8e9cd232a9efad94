import type { Scope, Work } from '@coxswain/persistence';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { FeedReader, type FeedScope } from './feed-reader.ts';

/** Notes what each transaction says that it does, and for which projects. */
class Setup {
  readonly transactions: string[] = [];
  readonly reader = new FeedReader(
    {
      within: (scope: Scope, work, kind?: Work) => {
        const { reach } = scope;
        this.transactions.push(`${kind} of ${reach.kind === 'projects' ? reach.ids.join() : 'all'}`);
        return work({ ...scriptedSql([[/./, []]]), narrowTo: () => Promise.resolve() });
      },
    },
    { id: 'c', name: 'c' },
  );
}

const OF_A: FeedScope = { kind: 'project', id: 'a' };
const RANGE = { after: 0, upTo: 9 };

describe('a reading for streams', () => {
  it.each<[string, (reader: FeedReader) => Promise<unknown>, string]>([
    ['that all watchers share is work of the API', (reader) => reader.read(OF_A, []), 'system of a'],
    [
      'of events that a reader missed is a list of its project',
      (reader) => reader.eventsBetween(OF_A, 'job', RANGE),
      'list of a',
    ],
    [
      'of steps that a reader missed is a list of its project',
      (reader) => reader.stepsBetween(OF_A, 'uid', RANGE),
      'list of a',
    ],
    [
      'that an administrator missed is a list of all',
      (reader) => reader.eventsBetween({ kind: 'cluster' }, 'job', RANGE),
      'list of all',
    ],
  ])('%s', async (_sentence, read, want) => {
    const setup = new Setup();
    await read(setup.reader);
    expect(setup.transactions).toEqual([want]);
  });
});
