import { spawn } from 'node:child_process';
import { endOfChild, standingIn, type ProcessStanding } from './process-end.ts';

/** As the kernel writes it: number, name, state, parent, 47 fields, and how it ended. */
function stat(state: string, more: { readonly name?: string; readonly parent?: number; readonly end?: number } = {}) {
  const { name = 'python3', parent = 7, end = 0 } = more;
  return `88 (${name}) ${state} ${parent} ${Array.from({ length: 47 }, () => '1').join(' ')} ${end}\n`;
}

describe('what the kernel tells of a child of somebody else', () => {
  it.each<[string, string, ProcessStanding]>([
    ['it runs', stat('S'), { kind: 'runs' }],
    ['it was killed', stat('Z', { end: 9 }), { kind: 'ended', exit: { kind: 'signal', signal: 'SIGKILL' } }],
    [
      'it left memory behind',
      stat('Z', { end: 6 | 0x80 }),
      { kind: 'ended', exit: { kind: 'signal', signal: 'SIGABRT' } },
    ],
    ['it exited', stat('Z', { end: 93 << 8 }), { kind: 'ended', exit: { kind: 'code', code: 93 } }],
    ['a signal without a name ended it', stat('Z', { end: 64 }), { kind: 'ended', exit: { kind: 'code', code: 192 } }],
    ['it finished', stat('Z'), { kind: 'ended', exit: { kind: 'code', code: 0 } }],
    ['its name is what it likes', stat('Z', { name: 'a) Z 7 (b', end: 9 }), { kind: 'ended', exit: { kind: 'signal', signal: 'SIGKILL' } }], // prettier-ignore
    ['it is a child of another one by now', stat('Z', { parent: 1, end: 9 }), { kind: 'gone' }],
    ['it is being taken away', stat('X'), { kind: 'gone' }],
    ['nothing', '', { kind: 'gone' }],
  ])('%s', (_sentence, text, want) => {
    expect(standingIn(text, { parent: 7, isOwn: true })).toEqual(want);
  });

  it.each<[string, string, ProcessStanding]>([
    ['finished, or may not be looked at', stat('Z'), { kind: 'gone' }],
    ['failed', stat('Z', { end: 3 << 8 }), { kind: 'ended', exit: { kind: 'code', code: 3 } }],
  ])('of another user it is only known how one ended that %s', (_sentence, text, want) => {
    expect(standingIn(text, { parent: 7, isOwn: false })).toEqual(want);
  });
});

describe('how it ends', () => {
  const ended: ProcessStanding = { kind: 'ended', exit: { kind: 'code', code: 3 } };
  const runs: ProcessStanding = { kind: 'runs' };
  it.each<[string, readonly ProcessStanding[], number, unknown]>([
    ['is waited for', [runs, runs, ended], 10_000, { kind: 'code', code: 3 }],
    ['is not known where somebody has asked before', [runs, { kind: 'gone' }], 10_000, undefined],
    ['is not waited for longer than that', [runs], 0, undefined],
  ])('%s', async (_sentence, seen, patienceMs, want) => {
    const left = [...seen];
    const standingOf = (): ProcessStanding => left.shift() ?? runs;
    expect(await endOfChild(88, 7, { standingOf, patienceMs })).toEqual(want);
  });

  it('is told by this kernel of a process whose parent has not asked', async () => {
    // A shell that starts one that is killed, and becomes a program that asks for nobody.
    const parent = spawn('/bin/sh', ['-c', 'sh -c "echo \\$\\$; kill -9 \\$\\$" & exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [printed] = (await parent.stdout.take(1).toArray()) as Buffer[];
    const exit = await endOfChild(Number(String(printed)), parent.pid ?? 0);
    parent.kill('SIGKILL');
    expect(exit).toEqual({ kind: 'signal', signal: 'SIGKILL' });
  });
});
