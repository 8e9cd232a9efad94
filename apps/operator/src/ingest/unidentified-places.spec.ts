import { FakeClock } from '@coxswain/kube/testing';
import { UnidentifiedPlaces } from './unidentified-places.ts';

interface Desk {
  readonly places: UnidentifiedPlaces;
  readonly clock: FakeClock;
  readonly dropped: string[];
  /** Somebody connects, named `address/number`. */
  comes(...names: string[]): void;
}

function aDesk(most: number): Desk {
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
    const desk = aDesk(3);
    desk.comes('a/1', 'a/2');
    desk.places.leave('a/2');
    await desk.clock.advance(9_999);
    expect(desk.dropped).toEqual([]);
    await desk.clock.advance(1);
    expect([desk.dropped, desk.places.size, desk.clock.pending]).toEqual([['a/1'], 0, 0]);
  });

  it('are given the time that the look-up takes once they have said it, and count on meanwhile', async () => {
    const desk = aDesk(1);
    desk.comes('a/1');
    desk.places.saidHello('a/1');
    await desk.clock.advance(60_000);
    expect(desk.dropped).toEqual([]);
    desk.comes('b/1');
    expect(desk.dropped).toEqual(['b/1']);
  });

  it.each([
    ['a newcomer takes the oldest place of the address that holds most', ['a/1', 'a/2', 'a/3', 'b/1'], ['a/1']],
    ['and so does the next one', ['a/1', 'a/2', 'a/3', 'b/1', 'c/1'], ['a/1', 'a/2']],
    ['a newcomer of the address that holds most goes itself', ['a/1', 'a/2', 'b/1', 'a/3'], ['a/3']],
    ['where each address holds one, the newcomer goes', ['a/1', 'b/1', 'c/1', 'd/1'], ['d/1']],
  ])('when all three places are taken %s', (_sentence, names, want) => {
    const desk = aDesk(3);
    desk.comes(...names);
    expect(desk.dropped).toEqual(want);
    expect(desk.places.size).toBe(3);
  });
});
