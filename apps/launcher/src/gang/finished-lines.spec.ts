import { tmpdir } from 'node:os';
import { PassThrough } from 'node:stream';
import { LogSink } from '../logs/log-relay.ts';
import { Gang } from './gang.ts';

/** Runs a script as each rank to its end, and returns the lines that the launcher reports. */
async function linesAfter(script: string, ranks: readonly number[]): Promise<readonly string[]> {
  const gang = new Gang({
    settings: { nodeName: 'node-a', gracePeriodMs: 1_000 },
    own: { ranks, worldSize: ranks.length, podIndex: 0, podCount: 1, incarnation: 1 },
    bootId: tmpdir(),
    command: ['bash', '-c', script],
    environment: process.env,
    stdout: new LogSink(new PassThrough().resume()),
    stderr: new LogSink(new PassThrough().resume()),
    onFact: () => undefined,
  });
  await gang.start({ host: '127.0.0.1', port: 1 });
  expect(await gang.ended).toMatchObject({ kind: 'finished' });
  return gang.lastLinesOfFinished;
}

describe('the last lines of ranks that exit with 0', () => {
  it.each<[string, string, RegExp]>([
    [
      'name the program for which a shell did not wait',
      'echo started; sleep 1000 &',
      // On a busy machine the shell may end before what it started in the background has become `sleep`.
      /^started\n\[launcher\] The command of rank 0 ended while it had not waited for .*(?:sleep|sh), which ended with it\. Start/,
    ],
    ['are what the first rank wrote, if its shell waited', 'echo "rank $RANK"; sleep 0 & wait', /^rank 0$/],
    [
      'are those of the rank that shows an error',
      'if [ $RANK = 1 ]; then echo "ValueError: empty" | cat; fi; echo end',
      /^ValueError: empty\nend$/,
    ],
  ])('%s', async (_sentence, script, want) => {
    expect((await linesAfter(script, [0, 1])).join('\n')).toMatch(want);
  });
});
