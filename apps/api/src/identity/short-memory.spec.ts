import { ShortMemory } from './short-memory.ts';

let nowMs: number;
let asked: string[];
let memory: ShortMemory<string>;
const ask = (key: string, forMs = 100): Promise<string> =>
  memory.once(key, () => {
    asked.push(key);
    return Promise.resolve({ value: `${key} at ${nowMs}`, forMs });
  });

beforeEach(() => {
  nowMs = 0;
  asked = [];
  memory = new ShortMemory({ most: 3, nowMs: () => nowMs });
});

describe('an answer', () => {
  it('is asked for once, by however many who come together, and again when it is too old', async () => {
    expect(await Promise.all([ask('a'), ask('a'), ask('a')])).toEqual(['a at 0', 'a at 0', 'a at 0']);
    nowMs = 99;
    expect(await ask('a')).toBe('a at 0');
    nowMs = 100;
    expect(await ask('a')).toBe('a at 100');
    expect(asked).toEqual(['a', 'a']);
  });

  it('that is good for no time is asked for again', async () => {
    await ask('a', 0);
    await ask('a', 0);
    expect(asked).toEqual(['a', 'a']);
  });

  it('that did not come is asked for again, and nobody waits for ever', async () => {
    const fail = (): Promise<string> => memory.once('a', () => Promise.reject(new Error('away')));
    await expect(Promise.all([fail(), ask('a')])).rejects.toThrow('away');
    expect([memory.asking, await ask('a')]).toEqual([0, 'a at 0']);
  });

  it('that was forgotten while it was asked for is told to those alone who waited', async () => {
    const waited = ask('a');
    memory.forget('a');
    nowMs = 1;
    expect([await ask('a'), await waited]).toEqual(['a at 1', 'a at 0']);
    expect(await ask('a')).toBe('a at 1');
  });

  it('goes when there are too many, the oldest first', async () => {
    for (const key of ['a', 'b', 'c', 'd']) await ask(key);
    expect(['a', 'b', 'c', 'd'].map((key) => memory.recall(key))).toEqual([undefined, 'b at 0', 'c at 0', 'd at 0']);
  });
});
