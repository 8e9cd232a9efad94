import { UnreadBytes, type UnreadReader } from './unread-bytes.ts';

interface TestReader extends UnreadReader {
  unreadBytes: number;
  isCut: boolean;
}

const aReader = (owner: string, unreadBytes = 0): TestReader => ({
  owner,
  unreadBytes,
  isCut: false,
  cut() {
    this.isCut = true;
  },
});

describe('what readers leave unread', () => {
  it('is bounded for each owner: its reader with the most is cut, and readers of others are not', () => {
    const unread = new UnreadBytes({ most: 1_000, mostOfOwner: 100 });
    const [other, small, large] = [aReader('b', 90), aReader('a', 40), aReader('a', 60)];
    for (const reader of [other, small, large]) unread.note(reader);
    small.unreadBytes = 50;
    unread.note(small);
    expect([other, small, large].map(({ isCut }) => isCut)).toEqual([false, false, true]);
    expect(unread.bytes).toBe(140);
  });

  it('is bounded in sum: the owner with the most gives way, whoever was sent something last', () => {
    const unread = new UnreadBytes({ most: 100, mostOfOwner: 80 });
    const heavy = Array.from({ length: 7 }, () => aReader('a', 10));
    for (const reader of heavy) unread.note(reader);
    const light = aReader('b', 35);
    unread.note(light);
    expect(light.isCut).toBe(false);
    expect(heavy.filter(({ isCut }) => isCut)).toHaveLength(1);
    expect(unread.bytes).toBe(95);
  });

  it('counts no more when it was read, or its reader has left', () => {
    const unread = new UnreadBytes({ most: 100, mostOfOwner: 100 });
    const [first, second] = [aReader('a', 60), aReader('a', 60)];
    unread.note(first);
    first.unreadBytes = 0;
    unread.note(second);
    unread.forget(second);
    unread.note(aReader('a', 90));
    expect([first.isCut, second.isCut]).toEqual([false, false]);
    expect(unread.bytes).toBe(90);
  });
});
