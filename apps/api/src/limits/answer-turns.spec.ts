import { aMembership, aPrincipal } from '../testing/a-principal.ts';
import { AnswerTurns } from './answer-turns.ts';
import { LimitExceeded } from './limit-exceeded.ts';

/** Answers that are built until the test ends. */
class Setup {
  readonly began: string[] = [];
  readonly #turns = new AnswerTurns({
    ownerOf: ({ id, memberships }) => memberships[0]?.id ?? id,
    refuse: (limit, message, seconds) => new LimitExceeded(limit, message, seconds),
  });
  readonly #gone = new AbortController();
  readonly #done = Promise.withResolvers<void>();

  /** The first letter is the project; each request is of a principal of its own. */
  async build(name: string, cost: number): Promise<string> {
    const principal = aPrincipal({ id: name, memberships: [aMembership({ id: name.charAt(0) })] });
    const asked = this.#turns.build(principal, { cost, gone: this.#gone.signal }, async () => {
      this.began.push(name);
      await this.#done.promise;
      return name;
    });
    return asked.catch((error: Error) => error.message);
  }

  async settled(): Promise<readonly string[]> {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    return this.began;
  }

  finish(): void {
    this.#done.resolve();
  }
}

const [SMALL, MEDIUM, LARGE] = [2_000, 200_000, 1_320_000];

describe('large answers', () => {
  it.each([
    ['of one project are built two at a time, and those of others beside them', 'a a a a b', MEDIUM, 'a0 a1 b4'],
    ['are built four at a time in all', 'a a b b c', MEDIUM, 'a0 a1 b2 b3'],
    ['of the largest kind are built one at a time', 'a b c', LARGE, 'a0'],
    ['that are small need no turn', 'a a a a a a', SMALL, 'a0 a1 a2 a3 a4 a5'],
  ])('%s', async (_sentence, projects, cost, want) => {
    const setup = new Setup();
    const asked = projects.split(' ').map((project, index) => setup.build(`${project}${index}`, cost));
    expect((await setup.settled()).join(' ')).toBe(want);
    setup.finish();
    expect(await Promise.all(asked)).toEqual(projects.split(' ').map((project, index) => `${project}${index}`));
  });

  it('of the largest kind leave turns to smaller ones', async () => {
    const setup = new Setup();
    for (const name of ['a0', 'b0', 'c0']) void setup.build(name, LARGE);
    void setup.build('d0', MEDIUM);
    expect(await setup.settled()).toEqual(['a0', 'd0']);
    setup.finish();
  });

  it('of one project that wait are so many, and the next one is told to come again', async () => {
    const setup = new Setup();
    for (let index = 0; index < 62; index += 1) void setup.build(`a${index}`, MEDIUM);
    expect(await setup.build('a62', MEDIUM)).toMatch(/^too many large answers are being built; try again in a few/);
    setup.finish();
  });
});
