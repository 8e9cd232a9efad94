import { FakeClock } from '@coxswain/kube/testing';
import { UnidentifiedPlaces } from './unidentified-places.ts';

interface Setup {
  readonly places: UnidentifiedPlaces;
  readonly clock: FakeClock;
  readonly dropped: string[];
  /** Somebody connects, named `address/number`. */
  comes(...names: string[]): void;
}

function aSetup(most: number): Setup {
  const clock = new FakeClock();
  const dropped: string[] = [];
  const places = new UnidentifiedPlaces({ most, helloWithinMs: 10_000 }, (delayMs, fire) =>
    clock.setTimer(delayMs, fire),
  );
  const comes = (...names: string[]): void => {
    for (const name of names) places.enter(name, name.split('/')[0] ?? '', () => dropped.push(name));
  };
  return { places, clock, dropped, comes };
}

describe('connections that have not said who they are', () => {
  it('go after 10 s', async () => {
    const setup = aSetup(3);
    setup.comes('a/1', 'a/2');
    setup.places.leave('a/2');
    await setup.clock.advance(9_999);
    expect(setup.dropped).toEqual([]);
    await setup.clock.advance(1);
    expect([setup.dropped, setup.places.size, setup.clock.pending]).toEqual([['a/1'], 0, 0]);
  });

  it('are given the time that the look-up takes once they have said it, and count on meanwhile', async () => {
    const setup = aSetup(1);
    setup.comes('a/1');
    setup.places.recordHello('a/1');
    await setup.clock.advance(60_000);
    expect(setup.dropped).toEqual([]);
    setup.comes('b/1');
    expect(setup.dropped).toEqual(['b/1']);
  });

  it.each([
    ['a newcomer takes the oldest place of the address that holds most', ['a/1', 'a/2', 'a/3', 'b/1'], ['a/1']],
    ['and so does the next one', ['a/1', 'a/2', 'a/3', 'b/1', 'c/1'], ['a/1', 'a/2']],
    ['a newcomer of the address that holds most goes itself', ['a/1', 'a/2', 'b/1', 'a/3'], ['a/3']],
    ['where each address holds one, the newcomer goes', ['a/1', 'b/1', 'c/1', 'd/1'], ['d/1']],
  ])('when all three places are taken %s', (_sentence, names, want) => {
    const setup = aSetup(3);
    setup.comes(...names);
    expect(setup.dropped).toEqual(want);
    expect(setup.places.size).toBe(3);
  });
});
