import { SharedRoom } from './shared-room.ts';

/** Takes room and notes who lost it. */
function aRoom(most: number, mostOfOwner: number) {
  const room = new SharedRoom({ most, mostOfOwner });
  const evicted: string[] = [];
  const take = (owner: string, bytes: number, name = owner): (() => void) | string =>
    room.take(owner, bytes, () => evicted.push(name));
  return { room, evicted, take };
}

describe('room that owners share', () => {
  it('of one owner is its share; what is given back can be taken again, once', () => {
    const { room, take } = aRoom(1_000, 100);
    const first = take('a', 60) as () => void;
    expect(take('a', 60)).toBe('ofOwner');
    first();
    first();
    expect(room.total).toBe(0);
    expect(take('a', 100)).toBeInstanceOf(Function);
  });

  it('that is all taken is made by the owner with the most, which loses what it took first', () => {
    const { room, evicted, take } = aRoom(100, 80);
    for (const name of ['a1', 'a2', 'a3', 'a4']) take('a', 20, name);
    expect(take('b', 30)).toBeInstanceOf(Function);
    expect(evicted).toEqual(['a1']);
    expect(room.total).toBe(90);
  });

  it('is refused to the owner with the most when all is taken', () => {
    const { evicted, take } = aRoom(100, 90);
    take('b', 20);
    take('a', 80);
    expect(take('a', 10)).toBe('ofAll');
    expect(evicted).toEqual([]);
  });

  it('is always there for an owner that has taken nothing', () => {
    const { room, evicted, take } = aRoom(100, 50);
    for (const owner of ['a', 'b']) take(owner, 50);
    expect(take('c', 50)).toBeInstanceOf(Function);
    expect(evicted).toEqual(['a']);
    expect(room.total).toBe(100);
    expect(take('d', 20)).toBeInstanceOf(Function);
    expect(evicted).toEqual(['a', 'b']);
    expect(room.total).toBe(70);
  });
});
