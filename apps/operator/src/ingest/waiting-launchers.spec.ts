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
});
