import { HeldPlaces } from './held-places.ts';

describe('places that are held', () => {
  it('are counted for each, and given back once, however often that is said', () => {
    const places = new HeldPlaces();
    const [first] = [places.hold('a'), places.hold('a'), places.hold('b')];
    expect(['a', 'b', 'c'].map((id) => places.held(id))).toEqual([2, 1, 0]);
    first?.();
    first?.();
    expect(['a', 'b'].map((id) => places.held(id))).toEqual([1, 1]);
  });
});
