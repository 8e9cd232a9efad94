import { exitError, type ProcessExit } from './exit-error.ts';

const aDeath = (death: Partial<ProcessExit>): ProcessExit => ({ exitCode: null, signal: null, stderr: '', ...death });

describe('a search whose process has ended', () => {
  it.each([
    ['an allocation found no room', { signal: 'SIGABRT' }],
    ['a single allocation was larger than anything that V8 can hold', { signal: 'SIGTRAP' }],
    ['the same, on processors that trap otherwise', { signal: 'SIGILL' }],
    ['its watch ended it, or the kernel', { signal: 'SIGKILL' }],
    ['a shell told of SIGABRT', { exitCode: 134 }],
    ['a shell told of SIGTRAP', { exitCode: 133 }],
    ['a shell told of SIGILL', { exitCode: 132 }],
    ['a shell told of SIGKILL', { exitCode: 137 }],
    ['V8 said so', { exitCode: 1, stderr: 'FATAL ERROR: Reached heap limit - JavaScript heap out of memory' }],
    ['V8 said so of a single allocation', { exitCode: 1, stderr: 'Fatal JavaScript invalid size error 169220804' }],
    ['memory beside the heap ended', { exitCode: 1, stderr: 'RangeError: Array buffer allocation failed' }],
  ] satisfies [string, Partial<ProcessExit>][])('needed too much memory: %s', (_sentence, death) => {
    expect(exitError(aDeath(death), 128)).toMatchObject({
      code: 'OVER_BUDGET',
      message: expect.stringMatching(/memory limit of 128 MiB.*Narrow the question/) as string,
    });
  });

  it.each([
    ['a defect of the planner', { exitCode: 1, stderr: 'TypeError: layout is not iterable' }],
    ['an exit that nobody asked for', { exitCode: 0 }],
    ['somebody’s signal', { signal: 'SIGTERM' }],
    ['a fault of the processor', { signal: 'SIGSEGV' }],
  ] satisfies [string, Partial<ProcessExit>][])('failed, and says nothing of memory: %s', (_sentence, death) => {
    expect(exitError(aDeath(death), 128)).toMatchObject({ message: 'the search failed' });
  });

  it('tells in its cause how it ended and what it said last', () => {
    const death = aDeath({ signal: 'SIGABRT', stderr: 'FATAL ERROR: no room\n' });
    expect(exitError(death, 128)).toMatchObject({
      cause: { message: 'the planner process was killed by SIGABRT: FATAL ERROR: no room' },
    });
  });
});
