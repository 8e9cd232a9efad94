import type { InSteps } from '@coxswain/scheduling';
import { InTurns } from './in-turns.ts';

describe('computations in turns', () => {
  it('let other work in between their steps, and run one after the other', async () => {
    const turns = new InTurns();
    const log: string[] = [];
    const steps = (name: string) =>
      function* (): InSteps<string> {
        for (const step of [1, 2]) {
          log.push(`${name}${step}`);
          yield;
        }
        return name;
      };
    const both = [turns.run(steps('a')), turns.run(steps('b'))];
    setImmediate(() => log.push('other'));
    expect(turns.waiting).toBe(2);
    expect(await Promise.all(both)).toEqual(['a', 'b']);
    expect([log.filter((each) => each !== 'other'), turns.waiting]).toEqual([['a1', 'a2', 'b1', 'b2'], 0]);
    expect(log.indexOf('other')).toBeLessThan(log.indexOf('b1'));
  });

  it('go on after one that failed', async () => {
    const turns = new InTurns();
    const failing = turns.run(function* (): InSteps<string> {
      throw new Error('away');
    });
    await expect(failing).rejects.toThrow('away');
    expect(
      await turns.run(function* (): InSteps<string> {
        return 'next';
      }),
    ).toBe('next');
  });
});
