/** More than 400 lines: each sentence starts the same launcher against the same stand-in of the operator, and says how its run ends. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAUNCHER_RANK_ENV, POD_ENV, RANK_ENV, TORCH_RANK_ENV, type RankAssignment } from '@coxswain/api-types';
import { DirectoryStore } from '@coxswain/checkpoint-store';
import { waitFor } from '@coxswain/local-cluster';
import { readKeptLogs } from '../kept-logs/read-kept-logs.ts';
import { aCheckpointIn, sha256 } from '../testing/a-checkpoint.ts';
import { anAuthority, aWholeGang, FakeOperator } from '../testing/fake-operator.ts';
import { isRunning, LauncherProcess, type Start } from '../testing/launcher-process.ts';
import { hangs, inVerifier } from '../testing/in-verifier.ts';

const disposals: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

interface Launch extends Omit<Start, 'operators'> {
  readonly ranks?: number;
  readonly saveDirectory?: string;
  readonly resume?: RankAssignment['resume'];
  readonly suspects?: NonNullable<FakeOperator['verifyWanted']>['checkpoints'];
  readonly listensTo?: FakeOperator['listensTo'];
}

/** A launcher, and an operator that gives it all the ranks of its gang. */
async function launch({
  ranks = 1,
  saveDirectory = '.',
  resume,
  suspects,
  listensTo = [],
  ...start
}: Launch): Promise<LauncherProcess> {
  const operator = await FakeOperator.start(await anAuthority());
  operator.listensTo = listensTo;
  if (suspects !== undefined) {
    operator.verifyWanted = { kind: 'verifyWanted', epoch: 1, incarnation: 1, checkpoints: suspects };
  }
  operator.assignmentOf = () => aWholeGang(ranks, { saveDirectory, ...(resume === undefined ? {} : { resume }) });
  const operators = { urls: [operator.url], ca: (await anAuthority()).certPem };
  const launcher = new LauncherProcess({ ...start, operators });
  disposals.push(
    () => launcher.dispose(),
    () => operator.stop(),
  );
  return launcher;
}

/** A file that a rank writes, once it is there. */
function written(launcher: LauncherProcess, name: string): Promise<string> {
  return waitFor(() => launcher.written(name), { intervalMs: 10, what: `${name} of a rank` });
}

const endings: readonly {
  readonly when: string;
  readonly engine: string | readonly string[];
  readonly ranks?: number;
  readonly want: { exit: number; kind: string; rank?: number; message: RegExp; lastLine?: RegExp };
}[] = [
  {
    when: 'every rank finishes',
    engine: 'exit 0',
    ranks: 2,
    want: { exit: 0, kind: 'finished', message: /every rank/ },
  },
  {
    when: 'one rank exits with 1 while the others would go on for ever',
    engine: 'if [ $RANK = 1 ]; then echo sorry; exit 1; fi; sleep 1000',
    ranks: 3,
    want: {
      exit: 1,
      kind: 'engineFailed',
      rank: 1,
      message: /^rank 1 on node node-2 exited with code 1$/,
      lastLine: /sorry/,
    },
  },
  {
    when: 'a rank is killed',
    engine: 'echo last; kill -9 $$',
    want: {
      exit: 137,
      kind: 'engineFailed',
      rank: 0,
      message: /was killed by SIGKILL \(exit code 137\)/,
      lastLine: /last/,
    },
  },
  {
    when: 'Python raises',
    engine: ['python3', '-c', 'raise RuntimeError("boom")'],
    want: { exit: 1, kind: 'engineFailed', rank: 0, message: /exited with code 1/, lastLine: /^RuntimeError: boom$/ },
  },
  {
    when: 'the rendezvous port was lost',
    engine: 'exit 71',
    want: { exit: 71, kind: 'rendezvousPortLost', rank: 0, message: /exited with code 71/ },
  },
  {
    when: 'a restart would not help',
    engine: 'exit 93',
    want: { exit: 93, kind: 'doNotRestart', rank: 0, message: /exited with code 93/ },
  },
  {
    when: 'one rank stopped and the other finished',
    engine: '[ $RANK = 0 ] || exit 75',
    ranks: 2,
    want: { exit: 75, kind: 'stopped', message: /stopped/ },
  },
  {
    when: 'an engine exits with the code by which a launcher says that it was fenced',
    engine: 'exit 73',
    want: { exit: 73, kind: 'engineFailed', rank: 0, message: /exited with code 73/ },
  },
  {
    when: 'the program does not exist',
    engine: ['no-such-program'],
    want: { exit: 70, kind: 'launcherFailed', rank: 0, message: /could not be started: no-such-program/ },
  },
];

describe('a launcher ends by the table of exit codes', () => {
  it.each(endings)('when $when', async ({ engine, ranks, want }) => {
    const launcher = await launch({ engine, ranks: ranks ?? 1 });
    expect(await launcher.exited).toBe(want.exit);
    const cause = launcher.cause();
    expect(cause).toMatchObject({ version: 1, kind: want.kind, epoch: 1, node: 'node-2', exitCode: want.exit });
    expect(cause.rank).toBe(want.rank);
    expect(cause.message).toMatch(want.message);
    expect(cause.lastLines.at(-1) ?? '').toMatch(want.lastLine ?? /^$/);
  });

  it('with 70 and a sentence when the pod does not say what it needs', async () => {
    const launcher = await launch({
      engine: 'exit 0',
      environment: { [POD_ENV.epoch]: undefined, [POD_ENV.podIndex]: 'two' },
    });
    expect(await launcher.exited).toBe(70);
    expect(launcher.stderr).toContain('COXSWAIN_EPOCH is missing');
    expect(launcher.stderr).toContain('COXSWAIN_POD_INDEX is not a whole number');
    expect(launcher.cause().kind).toBe('launcherFailed');
  });

  it('even where the termination message cannot be written', async () => {
    const launcher = await launch({
      engine: 'exit 7',
      environment: { COXSWAIN_TERMINATION_LOG: '/no/such/directory/file' },
    });
    expect(await launcher.exited).toBe(7);
    expect(launcher.stderr).toContain('cannot be written');
  });

  it('with 72 and no rank started when the checkpoint to resume from is cut off', async () => {
    const scratch = await launch({ engine: 'exit 0' });
    const saved = aCheckpointIn(scratch.directory);
    const resume = { step: saved.step, path: saved.directory, manifestSha256: saved.manifestSha256 };
    const environment = { [POD_ENV.checkpointMount]: scratch.directory };
    const whole = await launch({ engine: 'echo started > ran', environment, resume });
    expect(await whole.exited).toBe(0);
    expect(whole.written('ran')).toBe('started');

    writeFileSync(join(scratch.directory, saved.directory, 'rank-0.bin'), '1234567');
    const cut = await launch({ engine: 'echo started > ran', environment, resume });
    expect(await cut.exited).toBe(72);
    expect(cut.cause()).toMatchObject({
      kind: 'checkpointUnreadable',
      checkpointFault: { kind: 'ContentDiffers', expected: '8 bytes', found: '7 bytes' },
    });
    expect(cut.cause().message).toContain('rank-0.bin has 7 bytes, not 8 bytes');
    expect(cut.written('ran')).toBeUndefined();
  });
});

describe('a checkpoint that cannot be loaded', () => {
  it('is told apart from one that differs, by code and cause, when its mount is gone', async () => {
    const scratch = await launch({ engine: 'exit 0' });
    const launcher = await launch({
      engine: 'echo started > ran',
      environment: { [POD_ENV.checkpointMount]: join(scratch.directory, 'not-mounted') },
      resume: { step: 10, path: 'epoch-1/step-10', manifestSha256: 'a'.repeat(64) },
    });
    expect(await launcher.exited).toBe(74);
    expect(launcher.cause()).toMatchObject({
      kind: 'checkpointIoError',
      node: 'node-2',
      checkpointFault: { kind: 'MountBroken', errno: 'ENOENT' },
    });
    expect(launcher.written('ran')).toBeUndefined();
  });

  it('is a mount that does not work when reading it neither succeeds nor fails', async () => {
    const scratch = await launch({ engine: 'exit 0' });
    const saved = aCheckpointIn(scratch.directory);
    const launcher = await launch({
      engine: 'echo started > ran',
      environment: {
        [POD_ENV.checkpointMount]: scratch.directory,
        COXSWAIN_MOUNT_PATIENCE_SECONDS: '2',
        NODE_OPTIONS: inVerifier(scratch.directory, hangs(scratch.directory)),
      },
      resume: { step: saved.step, path: saved.directory, manifestSha256: saved.manifestSha256 },
    });
    expect(await launcher.exited).toBe(74);
    expect(launcher.cause()).toMatchObject({
      kind: 'checkpointIoError',
      node: 'node-2',
      checkpointFault: {
        kind: 'MountBroken',
        path: join(scratch.directory, saved.directory),
        found: 'no answer within 2 s',
      },
    });
    expect(launcher.written('ran')).toBeUndefined();
  });

  it('is not to blame when the process that looks at it is killed, as for want of memory', async () => {
    const scratch = await launch({ engine: 'exit 0' });
    const saved = aCheckpointIn(scratch.directory);
    const killed = inVerifier(scratch.directory, `process.kill(process.pid, 'SIGKILL');`);
    const launcher = await launch({
      engine: 'echo started > ran',
      environment: { [POD_ENV.checkpointMount]: scratch.directory, NODE_OPTIONS: killed },
      resume: { step: saved.step, path: saved.directory, manifestSha256: saved.manifestSha256 },
    });
    expect(await launcher.exited).toBe(70);
    expect(launcher.cause()).toMatchObject({ kind: 'launcherFailed', node: 'node-2' });
    expect(launcher.cause().message).toMatch(
      /could not be verified: no process could verify it: it ended with SIGKILL/,
    );
    expect(launcher.cause().checkpointFault).toBeUndefined();
    expect(launcher.written('ran')).toBeUndefined();
  });

  it('is refused with all that its manifest lacks, however much that is', async () => {
    const scratch = await launch({ engine: 'exit 0' });
    const saved = aCheckpointIn(scratch.directory);
    const manifest = JSON.stringify({ files: Array.from({ length: 3_000 }, () => ({})) });
    writeFileSync(join(scratch.directory, saved.directory, 'manifest.json'), manifest);
    const launcher = await launch({
      engine: 'echo started > ran',
      environment: { [POD_ENV.checkpointMount]: scratch.directory },
      resume: { step: saved.step, path: saved.directory, manifestSha256: sha256(manifest) },
    });
    expect(await launcher.exited).toBe(72);
    expect(launcher.cause().message).toMatch(/manifest\.json is no manifest/);
  });

  it.each<[string, string, string, object]>([
    [
      'is what the launcher finds too, where a rank says that its content differs',
      '12345679',
      'checkpointUnreadable',
      { kind: 'ContentDiffers', found: `SHA-256 ${sha256('12345679')}` },
    ],
    [
      'is not condemned by a rank alone, where the launcher reads it as it was saved',
      '12345678',
      'checkpointIoError',
      { kind: 'FileUnreadable', found: 'SHA-256 b' },
    ],
  ])('%s', async (_what, content, kind, fault) => {
    const scratch = await launch({ engine: 'exit 0' });
    const saved = aCheckpointIn(scratch.directory);
    const path = join(scratch.directory, saved.directory, 'rank-0.bin');
    writeFileSync(path, content);
    const fact = { kind: 'checkpointFault', fault: 'ContentDiffers', path, expected: 'SHA-256 a', found: 'SHA-256 b' };
    const launcher = await launch({
      engine: `echo '${JSON.stringify(fact)}' >&3; exit 72`,
      environment: { [POD_ENV.checkpointMount]: scratch.directory },
      resume: { step: saved.step, path: saved.directory, manifestSha256: saved.manifestSha256 },
    });
    expect(await launcher.exited).toBe(kind === 'checkpointUnreadable' ? 72 : 74);
    expect(launcher.cause()).toMatchObject({ kind, rank: 0, checkpointFault: fault });
  });

  it.each<[string, string, number]>([
    ['is told to the operator, without a rank, where a newer one verified that was suspect', '12345678', 74],
    ['is loaded, where the newer one is still suspect', '12345679', 0],
  ])('%s', async (_what, content, code) => {
    const scratch = await launch({ engine: 'exit 0' });
    const older = aCheckpointIn(scratch.directory, 10);
    const newer = aCheckpointIn(scratch.directory, 20);
    const path = join(scratch.directory, newer.directory, 'rank-0.bin');
    writeFileSync(path, content);
    const { directory, manifestSha256 } = newer;
    const suspect = { checkpoint: 'c-20', path: directory, manifestSha256, files: [path] };
    const launcher = await launch({
      engine: 'echo started > ran',
      environment: { [POD_ENV.checkpointMount]: scratch.directory },
      resume: { step: 10, path: older.directory, manifestSha256: older.manifestSha256 },
      suspects: [suspect],
    });
    expect(await launcher.exited).toBe(code);
    expect(launcher.cause().verifiedCheckpoint).toBe(code === 74 ? 'c-20' : undefined);
    expect(launcher.written('ran')).toBe(code === 74 ? undefined : 'started');
  });

  it('is what the rank that finds it says it is', async () => {
    const fact = {
      kind: 'checkpointFault',
      fault: 'ContentDiffers',
      path: '/c/a',
      expected: 'SHA-256 a',
      found: 'SHA-256 b',
    };
    const launcher = await launch({ engine: `echo '${JSON.stringify(fact)}' >&3; exit 72` });
    expect(await launcher.exited).toBe(72);
    expect(launcher.cause()).toMatchObject({
      kind: 'checkpointUnreadable',
      rank: 0,
      checkpointFault: { kind: 'ContentDiffers', path: '/c/a', expected: 'SHA-256 a', found: 'SHA-256 b' },
    });
  });
});

describe('a rank', () => {
  it('learns who it is, and where to meet, from its environment', async () => {
    const launcher = await launch({
      engine: 'echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR $MASTER_PORT $MINE',
      ranks: 2,
      environment: { MINE: 'kept' },
    });
    await launcher.exited;
    const lines = launcher.stdout.toString().trim().split('\n').sort();
    expect(lines[0]).toMatch(/^\[rank 0\] 0 0 2 2 0 127\.0\.0\.1 \d+ kept$/);
    expect(lines[1]).toMatch(/^\[rank 1\] 1 1 2 2 0 127\.0\.0\.1 \d+ kept$/);
  });

  it('finds every variable of the reference in its environment, but those of a checkpoint, of files and of saves in memory where there are none', async () => {
    const names = [...Object.keys(TORCH_RANK_ENV), ...Object.keys(LAUNCHER_RANK_ENV)];
    const launcher = await launch({ engine: 'env' });
    await launcher.exited;
    const lines = launcher.stdout
      .toString()
      .split('\n')
      .map((line) => line.replace('[rank 0] ', ''));
    const set = new Set(lines.map((line) => line.split('=')[0]));
    const { resumeFrom, resumeManifestSha256, resumeRoot, resumeStep, engineFiles } = RANK_ENV;
    const { memoryDirectory, memorySaveEverySteps, memorySaveBytes, memoryResume } = RANK_ENV;
    const notHere: readonly string[] = [
      ...[resumeFrom, resumeManifestSha256, resumeRoot, resumeStep, engineFiles],
      ...[memoryDirectory, memorySaveEverySteps, memorySaveBytes, memoryResume],
    ];
    expect(names.filter((name) => !set.has(name) && !notHere.includes(name))).toEqual([]);
    expect(lines).toEqual(expect.arrayContaining(['GROUP_WORLD_SIZE=1', 'TORCHELASTIC_RESTART_COUNT=0']));
  });

  it('leaves nothing behind, not even a daemon in a session of its own', async () => {
    const launcher = await launch({
      engine: 'setsid sleep 1000 & echo $! > daemon; sleep 1000 & echo $! > child; exit 3',
    });
    expect(await launcher.exited).toBe(3);
    const pids = [launcher.written('daemon'), launcher.written('child')].map(Number);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('ends when its launcher is killed with SIGKILL', async () => {
    const launcher = await launch({ engine: 'sleep 1000 & echo $! > child; echo up; wait' });
    const child = Number(await written(launcher, 'child'));
    // Who passes its output on has told its guard of the rank: between fork and that there are some instructions.
    await waitFor(() => launcher.stdout.includes('up'), { intervalMs: 10, what: 'the output of the rank' });
    launcher.child.kill('SIGKILL');
    await waitFor(() => !isRunning(child), { intervalMs: 10, what: 'the end of the rank' });
  });
});

describe('a signal', () => {
  it('reaches every rank long before the grace period is over, and ranks that save and stop give 75', async () => {
    const launcher = await launch({
      engine:
        'trap "echo asked > asked.$RANK; exit 75" TERM; echo ready > ready.$RANK; while :; do sleep 1000 & wait; done',
      ranks: 2,
      listensTo: ['stop'],
      // A signal that came with the end of the grace period would not come while this test waits.
      environment: { [POD_ENV.gracePeriodSeconds]: '3600' },
    });
    await Promise.all([written(launcher, 'ready.0'), written(launcher, 'ready.1')]);
    launcher.child.kill('SIGTERM');
    await waitFor(() => [0, 1].every((rank) => launcher.written(`asked.${rank}`)), {
      intervalMs: 5,
      what: 'the signal',
    });
    expect(await launcher.exited).toBe(75);
    const stop = { graceMs: 3_597_000, signalled: 2, unhandled: 0, killed: false };
    expect(launcher.cause()).toMatchObject({ kind: 'stopped', exitCode: 75, stop });
  });

  it('ends ranks that do not know it, which did not fail by that', async () => {
    const launcher = await launch({ engine: 'echo ready > ready; exec sleep 1000' });
    await written(launcher, 'ready');
    launcher.child.kill('SIGINT');
    expect(await launcher.exited).toBe(143);
    const cause = launcher.cause();
    expect(cause).toMatchObject({ kind: 'stopped', signal: 'SIGTERM' });
    // An operator that does not announce to read it would reject the cause.
    expect(cause.stop).toBeUndefined();
  });

  it('is followed by SIGKILL when the grace period is nearly over', async () => {
    const launcher = await launch({
      engine: 'trap "" TERM; echo ready > ready; while :; do sleep 1; done',
      environment: { [POD_ENV.gracePeriodSeconds]: '1' },
    });
    await written(launcher, 'ready');
    launcher.child.kill('SIGTERM');
    expect(await launcher.exited).toBe(137);
    expect(launcher.cause().message).toMatch(/did not stop within 1 s and was killed/);
  });

  it('that comes a second time kills at once', async () => {
    const launcher = await launch({ engine: 'trap "" TERM; echo ready > ready; while :; do sleep 1; done' });
    await written(launcher, 'ready');
    launcher.child.kill('SIGTERM');
    await waitFor(() => launcher.stderr.includes('Asked to stop'), { what: 'the first signal' });
    launcher.child.kill('SIGTERM');
    expect(await launcher.exited).toBe(137);
    expect(launcher.cause().message).toMatch(/second signal/);
  });
});

describe('the log', () => {
  it('passes bytes on as they are, each line with its rank', async () => {
    const launcher = await launch({ engine: String.raw`printf '\377\376\000x\r\n\n'; printf 'no newline'` });
    await launcher.exited;
    const want = Buffer.from('[rank 0] \xff\xfe\x00x\r\n[rank 0] \n[rank 0] no newline\n', 'latin1');
    expect(launcher.stdout.equals(want)).toBe(true);
  });

  it('cuts a line of a megabyte and says so; beside the checkpoints it is kept whole, without the values of Secrets', async () => {
    const launcher = await launch({
      engine: "echo $WANDB; head -c 1048576 /dev/zero | tr '\\0' a; echo; echo next",
      environment: {
        [POD_ENV.keptLogs]: '{}',
        [POD_ENV.secretVariables]: 'WANDB',
        WANDB: 'wandb-key-1234',
      },
      saveDirectory: 'runs/gpt-0a1b2c3d/epoch-1',
    });
    await launcher.exited;
    expect(launcher.stdout.toString()).toMatch(/^\[rank 0\] \*\*\*\n/);
    const kept: Buffer[] = [];
    await readKeptLogs(
      { folder: 'runs/coxswain-logs/default/gpt-0a1b2c3d', attempt: 1, maxBytes: 9e6 },
      new DirectoryStore(launcher.directory),
      async (bytes) => void kept.push(Buffer.from(bytes)),
    );
    const [, ...keptLines] = Buffer.concat(kept).toString().split('\n');
    const ofRank = keptLines.filter((line) => line.startsWith('[rank 0]'));
    expect(ofRank.map(({ length }) => length)).toEqual([12, 1_048_585, 13]);
    expect(keptLines).toContainEqual(expect.stringMatching(/^\[launcher\] .*exit 0 \(finished\)/));
    const lines = launcher.stdout.toString().split('\n');
    expect(lines[1]).toMatch(/^\[rank 0\] a{65536} \[cut: 983040 more bytes\]$/);
    expect(lines[2]).toBe('[rank 0] next');
  });

  it('that nobody reads never stops a rank, and tells what is missing', async () => {
    const engine = `yes 0123456789 | head -c 30000000; echo done > done; while [ ! -e end ]; do echo on; sleep 0.05; done`;
    const launcher = await launch({ engine, isUnread: true });
    expect(await written(launcher, 'done')).toBe('done');
    launcher.read();
    const droppedLines = /\d+ lines \(\d+ bytes\) of output were dropped/;
    await waitFor(() => droppedLines.test(launcher.stdout.toString()), {
      what: 'the sentence',
    });
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    expect(launcher.stdout.length).toBeLessThan(10_000_000);
  });
});
