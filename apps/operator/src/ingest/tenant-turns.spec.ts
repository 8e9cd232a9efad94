import { TenantTurns } from './tenant-turns.ts';

/** Jobs by namespace. Each piece of work takes so many milliseconds of the thread, and is noted. */
class Setup {
  nowMs = 0;
  readonly done: string[] = [];
  readonly turns: TenantTurns;
  readonly #costMs: Readonly<Record<string, number>>;
  #cpuMs = 0;

  constructor(jobs: Readonly<Record<string, readonly string[]>>, costMs: Readonly<Record<string, number>>) {
    this.#costMs = costMs;
    this.turns = new TenantTurns({ cpuMs: () => this.#cpuMs, nowMs: () => this.nowMs });
    for (const [namespace, uids] of Object.entries(jobs)) for (const uid of uids) this.turns.open(uid, namespace);
  }

  readonly work = (uid: string): void => {
    this.done.push(uid);
    this.#cpuMs += this.#costMs[uid] ?? 0;
  };

  take(...uids: readonly string[]): void {
    for (const uid of uids) this.turns.take(uid, () => this.work(uid));
  }

  /** What is done in a pass, a tenth of a second after the one before. */
  pass(): readonly string[] {
    this.nowMs += 100;
    const before = this.done.length;
    this.turns.serve(this.work);
    return this.done.slice(before);
  }
}

describe('the time of the thread', () => {
  it('is without bound for a namespace that reports alone', () => {
    const setup = new Setup({ a: ['a1'] }, { a1: 500 });
    setup.take('a1', 'a1', 'a1');
    expect(setup.done).toEqual(['a1', 'a1', 'a1']);
  });

  it('is used up by the jobs of one namespace, and those of another are served at once', () => {
    const setup = new Setup({ a: ['a1', 'a2', 'a3'], b: ['b1'] }, { a1: 60, a2: 60, a3: 60 });
    setup.take('a1', 'a2', 'a3', 'b1');
    expect(setup.done).toEqual(['a1', 'a2', 'b1']);
  });

  it('comes back by the clock, half of it to a namespace that alone is busy, and its jobs take turns', () => {
    const setup = new Setup({ a: ['a1', 'a2', 'a3'], b: ['b1'] }, { a1: 100, a2: 100, a3: 100 });
    setup.take('a1', 'a2', 'a3');
    const passes = Array.from({ length: 8 }, () => {
      const done = setup.pass();
      setup.take(...done);
      return done;
    });
    expect(passes.flat()).toEqual(['a2', 'a3', 'a2', 'a3']);
    expect(passes.map(({ length }) => length)).toEqual([1, 0, 1, 0, 1, 0, 1, 0]);
  });

  it('is divided between busy namespaces, not between their jobs', () => {
    const many = Array.from({ length: 12 }, (_, at) => `a${at}`);
    const setup = new Setup({ a: many, b: ['b1'] }, { ...Object.fromEntries(many.map((uid) => [uid, 100])), b1: 100 });
    setup.take(...many, 'b1', 'b1');
    const done = Array.from({ length: 40 }, () => {
      const pass = setup.pass();
      setup.take(...pass);
      return pass;
    }).flat();
    const ofB = done.filter((uid) => uid === 'b1').length;
    expect([ofB, done.length - ofB]).toEqual([10, 10]);
  });

  it('is not kept for jobs that are gone', () => {
    const setup = new Setup({ a: ['a1'], b: ['b1'] }, { a1: 300 });
    setup.take('a1', 'a1');
    for (const uid of ['a1', 'b1']) setup.turns.close(uid);
    setup.take('a1');
    expect([setup.turns.size, setup.pass(), setup.done]).toEqual([0, [], ['a1']]);
  });
});
