import { aJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import type { TrainingJob } from '@coxswain/api-types';
import { aFabricNode } from '@coxswain/fabric/testing';
import type { FoundNodes, NodeSearch } from '@coxswain/job-planning';
import { FakeClock } from '@coxswain/kube/testing';
import { ANSWER_KEPT_MS, NodeSearches } from './node-searches.ts';

interface Question extends Pick<PromiseWithResolvers<FoundNodes>, 'resolve' | 'reject'> {
  readonly job: string;
  readonly signal: AbortSignal;
}

const aJob = (name: string, namespace = 'research'): TrainingJob & { readonly metadata: { readonly uid: string } } =>
  aTrainingJob({ metadata: { name, namespace, uid: `uid-${name}` } });
const layout = { ...aJobSpec().layout } as NodeSearch['spec']['layout'];
const searchOf = (gpusPerNode = 8): NodeSearch => ({
  spec: { ...aJobSpec(), layout },
  request: { layout, gpusPerNode },
  avoided: [],
});
const FOUND: FoundNodes = { kind: 'placed', nodes: ['a'], ranksPerPod: 8, where: '' };
type PlacementRefusal = Exclude<FoundNodes, { readonly kind: 'placed' }>;
const REFUSED: PlacementRefusal = { kind: 'waiting', message: 'Needs more.' };

/** A process that answers when the test says so. */
class Desk {
  readonly questions: Question[] = [];
  readonly news: string[] = [];
  readonly failures: unknown[] = [];
  readonly clock = new FakeClock();
  /** What stands of earlier refusals, by UID. */
  readonly standing = new Map<string, PlacementRefusal>();
  /** UIDs of jobs for which nodes are held. */
  readonly promised = new Set<string>();
  /** How often it was asked whether nodes are held for a job. */
  looks = 0;
  /** Whose capacity was asked for, in order. */
  readonly capacities: string[] = [];
  readonly searches = new NodeSearches({
    searcher: {
      ask: (_question, { signal }) => {
        const { promise, resolve, reject } = Promise.withResolvers<FoundNodes>();
        this.questions.push({ job: this.capacities.at(-1) ?? '', signal, resolve, reject });
        signal.addEventListener('abort', () => reject(signal.reason));
        return promise;
      },
    },
    scheduler: {
      capacityFor: (uid) => {
        this.capacities.push(uid);
        return { fabric: { nodes: [aFabricNode()] }, usedGpus: new Map(), version: 1, rises: 7 };
      },
      standingRefusal: (uid) => this.standing.get(uid),
      hasPromise: (uid) => {
        this.looks += 1;
        return this.promised.has(uid);
      },
    },
    clock: this.clock,
    onNews: (key) => this.news.push(key),
    onFailure: (_key, error) => this.failures.push(error),
  });

  ask(name: string, namespace?: string): void {
    this.searches.ask(aJob(name, namespace), searchOf());
  }

  of(name: string, search = searchOf()): string {
    return this.searches.of(`uid-${name}`, search).kind;
  }

  async answer(found = FOUND): Promise<void> {
    this.questions.at(-1)?.resolve(found);
    await this.clock.advance(0);
  }

  get asked(): readonly string[] {
    return this.questions.map(({ job }) => job.replace('uid-', ''));
  }
}

describe('a search of nodes beside the loop', () => {
  it('is asked once, is under way until there is an answer, and then the job is looked at', async () => {
    const desk = new Desk();
    expect(desk.of('a')).toBe('unasked');
    desk.ask('a');
    desk.ask('a');
    expect([desk.asked, desk.of('a'), desk.news]).toEqual([['a'], 'searching', []]);
    await desk.answer();
    const searched = { nodes: [aFabricNode()] };
    expect(desk.searches.of('uid-a', searchOf())).toEqual({ kind: 'found', found: FOUND, searched, rises: 7 });
    expect(desk.news).toEqual(['research/a']);
  });

  it.each<[string, (desk: Desk) => void | Promise<void>]>([
    ['it was used', (desk) => desk.searches.end('uid-a')],
    ['nobody has used it for long', (desk) => desk.clock.advance(ANSWER_KEPT_MS)],
    ['its job is gone', (desk) => desk.searches.forget('uid-a')],
  ])('is remembered no more when %s, and the next job has its turn', async (_when, ends) => {
    const desk = new Desk();
    desk.ask('a');
    desk.ask('b');
    await desk.answer();
    expect(desk.asked).toEqual(['a']);
    await ends(desk);
    expect([desk.of('a'), desk.asked]).toEqual(['unasked', ['a', 'b']]);
  });

  it('is made again, behind others, when the job asks again because its result is of no use any more', async () => {
    const desk = new Desk();
    desk.ask('a');
    desk.ask('b', 'other');
    await desk.answer();
    desk.ask('a');
    expect([desk.of('a'), desk.asked]).toEqual(['searching', ['a', 'b']]);
    await desk.answer();
    desk.searches.end('uid-b');
    expect(desk.asked).toEqual(['a', 'b', 'a']);
  });

  it('is another one when the job asks for something else, and the first is ended', async () => {
    const desk = new Desk();
    desk.ask('a');
    expect(desk.of('a', searchOf(4))).toBe('unasked');
    desk.searches.ask(aJob('a'), searchOf(4));
    expect([desk.questions[0]?.signal.aborted, desk.asked]).toEqual([true, ['a', 'a']]);
    await desk.answer();
    expect([desk.of('a'), desk.of('a', searchOf(4)), desk.failures]).toEqual(['unasked', 'found', []]);
  });

  it('is not ended by what becomes of a look that had no answer yet', () => {
    const desk = new Desk();
    desk.ask('a');
    desk.searches.end('uid-a');
    expect(desk.of('a')).toBe('searching');
  });

  it('is made first for a job for which nodes are held', () => {
    const desk = new Desk();
    desk.ask('running', 'x');
    desk.ask('before', 'y');
    desk.ask('head', 'x');
    desk.promised.add('uid-head');
    desk.searches.forget('uid-running');
    expect(desk.asked).toEqual(['running', 'head']);
  });

  it('gives namespaces their turn one after the other', async () => {
    const desk = new Desk();
    for (const name of ['a', 'b', 'c']) desk.ask(name, 'greedy');
    desk.ask('x', 'modest');
    for (const name of ['a', 'x', 'b', 'c']) {
      await desk.answer();
      desk.searches.end(`uid-${name}`);
    }
    expect(desk.asked).toEqual(['a', 'x', 'b', 'c']);
  });

  it('is not made for those who are refused meanwhile what they would search for', async () => {
    const desk = new Desk();
    for (const name of ['a', 'b', 'c']) desk.ask(name);
    await desk.answer(REFUSED);
    for (const name of ['a', 'b', 'c']) desk.standing.set(`uid-${name}`, REFUSED);
    desk.searches.end('uid-a');
    expect(desk.asked).toEqual(['a']);
    expect([desk.news, desk.searches.size]).toEqual([['research/a', 'research/b', 'research/c'], 0]);
  });

  it('is refused to a thousand jobs, whose order is made once, 200 of them in a turn of the event loop', async () => {
    const desk = new Desk();
    for (let index = 0; index < 1_000; index += 1) desk.ask(`job-${index}`);
    await desk.answer(REFUSED);
    for (let index = 0; index < 1_000; index += 1) desk.standing.set(`uid-job-${index}`, REFUSED);
    desk.looks = 0;
    desk.searches.end('uid-job-0');
    expect([desk.news.length, desk.looks]).toEqual([1 + 200, 999]);
    desk.ask('late');
    expect(desk.asked).toEqual(['job-0']);
    for (let turn = 0; turn < 5; turn += 1) await desk.clock.advance(0);
    expect([desk.news.length, desk.asked]).toEqual([1_000, ['job-0', 'late']]);
    expect(desk.looks).toBe(999 + 1);
  });

  it('that fails is told, lets others go first, and is made again later', async () => {
    const desk = new Desk();
    desk.ask('a');
    desk.ask('b');
    const error = new Error('it took too long');
    desk.questions[0]?.reject(error);
    await desk.clock.advance(0);
    expect([desk.failures, desk.asked, desk.of('a')]).toEqual([[error], ['a', 'b'], 'searching']);
    await desk.answer();
    desk.searches.end('uid-b');
    await desk.clock.advance(5_000);
    expect(desk.asked).toEqual(['a', 'b', 'a']);
  });

  it('ends with its loop, and leaves nothing behind', async () => {
    const desk = new Desk();
    desk.ask('a');
    desk.ask('b');
    desk.searches.close();
    await desk.clock.advance(0);
    desk.ask('c');
    expect([desk.asked, desk.searches.size, desk.clock.pending, desk.failures]).toEqual([['a'], 0, 0, []]);
  });
});
