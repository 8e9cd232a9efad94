import { FakeClock } from './testing/fake-clock.ts';
import { Turns } from './turns.ts';

/** Three callers ask in one turn, and the step of each takes so long. Returns which have gone on after each turn. */
async function threeCallers(stepMs: number): Promise<string[]> {
  const clock = new FakeClock();
  const turns = new Turns(clock);
  const done: string[] = [];
  const step = async (name: string): Promise<void> => {
    await turns.next();
    done.push(name);
    clock.stall(stepMs);
  };
  const seen: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    void step(name);
    // The answer of the next one is read in the same turn.
    await Promise.resolve();
  }
  for (let turn = 0; turn < 4; turn += 1) {
    seen.push(done.join(''));
    await clock.advance(0);
  }
  return seen;
}

it.each([
  ['go on at once where they are short', 1, ['abc', 'abc', 'abc', 'abc']],
  ['get a turn each where one is long', 50, ['a', 'abc', 'abc', 'abc']],
])('steps of one turn %s', async (_, stepMs, seen) => {
  expect(await threeCallers(stepMs)).toEqual(seen);
});
