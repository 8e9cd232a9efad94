import { WaitingLaunchers } from './waiting-launchers.ts';

const nothing = (): undefined => undefined;

describe('launchers that wait for the next leader', () => {
  it('have one place for each pod, which the newest connection takes over and the older one does not give up', () => {
    const waiting = new WaitingLaunchers();
    const replaced: string[] = [];
    const leaveAsOlder = waiting.enter('pod-1', () => void replaced.push('older'));
    const leaveAsNewer = waiting.enter('pod-1', () => void replaced.push('newer'));
    expect([replaced, waiting.size]).toEqual([['older'], 1]);
    leaveAsOlder?.();
    expect(waiting.size).toBe(1);
    leaveAsNewer?.();
    expect(waiting.size).toBe(0);
  });

  it('are so many in all; another connection of one of them still takes its place', () => {
    const waiting = new WaitingLaunchers(2);
    const leave = waiting.enter('pod-1', nothing);
    waiting.enter('pod-2', nothing);
    expect(waiting.enter('pod-3', nothing)).toBeUndefined();
    expect(waiting.enter('pod-2', nothing)).toBeDefined();
    leave?.();
    expect(waiting.enter('pod-3', nothing)).toBeDefined();
  });

  it.each<[string, readonly string[], string, readonly string[]]>([
    ['takes the oldest place of the namespace with most', ['big', 'big', 'big', 'small'], 'new', ['0']],
    ['takes one of the namespace with most, also for a smaller one', ['big', 'big', 'big', 'small'], 'small', ['0']],
    ['gets none if its own namespace has most', ['big', 'big', 'big', 'small'], 'big', []],
    ['gets none where all have the same', ['a', 'a', 'b', 'b'], 'b', []],
    ['gets none where it would only change places', ['a', 'a', 'b', 'c'], 'b', []],
  ])('are so many in all that a launcher of another namespace %s', (_, namespaces, namespace, wanted) => {
    const waiting = new WaitingLaunchers(4);
    const left: string[] = [];
    for (const [index, of] of namespaces.entries())
      waiting.enter(`pod-${index}`, (why) => void left.push(`${index}${why?.includes(of) === true ? '' : '?'}`), of);
    const got = waiting.enter('pod-new', nothing, namespace);
    expect([left, got !== undefined, waiting.size]).toEqual([wanted, wanted.length > 0, 4]);
  });
});
