import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { EXIT_CODES, LISTENS_TO_MEMORY_SAVES, POD_ENV, type RankAssignment } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { aCheckpointIn } from '../testing/a-checkpoint.ts';
import { anAuthority, aWholeGang, FakeOperator, obliging } from '../testing/fake-operator.ts';
import { isRunning, LauncherProcess } from '../testing/launcher-process.ts';

const disposals: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

interface Started {
  readonly launcher: LauncherProcess;
  readonly operator: FakeOperator;
  /** Over every connection that is open. */
  send(message: Parameters<FakeOperator['connections'][number]['send']>[0]): void;
  assign(more: Partial<RankAssignment>): void;
}

/** A launcher with one rank, which is to be started again where it fails. */
async function launch(
  engine: string,
  start: {
    readonly first?: Partial<RankAssignment>;
    readonly environment?: Readonly<Record<string, string>>;
    readonly listensTo?: FakeOperator['listensTo'];
  } = {},
): Promise<Started> {
  const operator = await FakeOperator.start(await anAuthority());
  operator.assignmentOf = () => aWholeGang(1, { onFailure: 'wait', ...start.first });
  operator.listensTo = start.listensTo ?? [];
  const operators = { urls: [operator.url], ca: (await anAuthority()).certPem };
  const launcher = new LauncherProcess({ engine, operators, environment: start.environment ?? {} });
  disposals.push(
    () => launcher.dispose(),
    () => operator.stop(),
  );
  const send: Started['send'] = (message) => operator.connections.at(-1)?.send(message);
  const assign = (more: Partial<RankAssignment>): void =>
    send({ kind: 'assignment', assignment: aWholeGang(1, { onFailure: 'wait', ...more }) });
  return { launcher, operator, send, assign };
}

function eventually(what: string, condition: () => boolean): Promise<unknown> {
  return waitFor(condition, { intervalMs: 10, what });
}

/** Fails in its first incarnation, and lives until `end` is there in a later one. */
const FAILS_FIRST =
  'echo "$COXSWAIN_INCARNATION $COXSWAIN_SAVE_DIR $COXSWAIN_RESUME_FROM" >> runs; [ $COXSWAIN_INCARNATION != 1 ] || exit 5; while [ ! -e end ]; do sleep 0.02; done';
const LIVES = 'echo $$ > pid.$COXSWAIN_INCARNATION; while [ ! -e end ]; do sleep 0.02; done';

describe('ranks that failed are started again in their pod', () => {
  it('with another incarnation, its own save directory and what it resumes from', async () => {
    const { launcher, operator, assign } = await launch(FAILS_FIRST);
    await eventually('reaped', () => operator.ofKind('reaped').length > 0);
    expect(operator.ofKind('reaped')[0]).toMatchObject({
      incarnation: 1,
      state: 'reaped',
      cause: { kind: 'engineFailed', rank: 0, exitCode: 5 },
    });
    // Whoever kills the pod now finds in it what happened.
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed', exitCode: 5 });
    const { step, directory, manifestSha256 } = aCheckpointIn(launcher.directory, 10);
    assign({ incarnation: 2, saveDirectory: 'two', resume: { step, path: directory, manifestSha256 } });
    await eventually('the second run', () => (launcher.written('runs') ?? '').split('\n').length === 2);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    expect(readFileSync(launcher.path('runs'), 'utf8').trim().split('\n')[1]).toBe(
      `2 ${launcher.path('two')} ${launcher.path(directory)}`,
    );
    expect(operator.ofKind('ended')).toMatchObject([{ incarnation: 2, cause: { kind: 'finished', incarnation: 2 } }]);
    expect(operator.violations).toEqual([]);
  });

  it('from what they saved in memory, which is reported when all are gone and ends with the launcher', async () => {
    const found = 'd=$COXSWAIN_MEMORY_DIR/rank-0; mkdir -p $d; echo "$d:$COXSWAIN_MEMORY_RESUME:$(ls $d)" >> resumed';
    const engine = `${found}; touch $d/1-5 $d/1-7 $d/partial; ${FAILS_FIRST}`;
    const bounds = { everySteps: 1, bytes: 10 };
    const { launcher, operator, assign } = await launch(engine, {
      environment: { [POD_ENV.memorySaves]: JSON.stringify(bounds) },
      listensTo: [LISTENS_TO_MEMORY_SAVES],
    });
    await eventually('reaped', () => operator.ofKind('reaped').some(({ memorySaves }) => memorySaves !== undefined));
    const [memorySave] = operator.ofKind('reaped').at(-1)?.memorySaves ?? [];
    expect(operator.ofKind('reaped').at(-1)?.memorySaves).toEqual([
      { incarnation: 1, step: 7 },
      { incarnation: 1, step: 5 },
    ]);
    // Another leader hears it with the first word, before it gives out ranks.
    operator.connections[0]?.close();
    const repeated = (): Started['operator']['messages'] =>
      (operator.connections[1]?.messages ?? []).filter(({ kind }) => kind === 'reaped');
    await eventually('reaped, once more', () => repeated().length > 0);
    expect(repeated()[0]).toHaveProperty('memorySaves.length', 2);
    // The checkpoint is not even looked at: its storage may be what is slow.
    const resume = { step: 3, path: 'gone', manifestSha256: 'a'.repeat(64) };
    assign({ incarnation: 2, resume, ...(memorySave === undefined ? {} : { memorySave }) });
    await eventually('the second run', () => (launcher.written('runs') ?? '').split('\n').length === 2);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    const [first, second] = (launcher.written('resumed') ?? '').trim().split('\n');
    expect([first, second]).toEqual([
      expect.stringMatching(/^\/dev\/shm\/coxswain-saves-.*::$/),
      expect.stringMatching(/:1-7:1-7$/),
    ]);
    expect(existsSync(first?.split(':')[0] ?? '')).toBe(false);
    expect(operator.violations).toEqual([]);
  });

  it('and find what was said of the ranks before them gone: whoever kills the pod now kills these', async () => {
    const { launcher, operator, assign } = await launch(FAILS_FIRST);
    await eventually('reaped', () => operator.ofKind('reaped').length > 0);
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed' });
    assign({ incarnation: 2 });
    await eventually('the second run', () => (launcher.written('runs') ?? '').split('\n').length === 2);
    expect(launcher.written('termination')).toBeUndefined();
  });

  it('only where the assignment says so: else the launcher ends as its ranks do', async () => {
    const { launcher, send } = await launch(LIVES);
    await eventually('the rank', () => launcher.written('pid.1') !== undefined);
    process.kill(Number(launcher.written('pid.1')), 'SIGKILL');
    await eventually('reaped', () => launcher.stderr.includes('waiting for the next one'));
    send({ kind: 'assignment', assignment: aWholeGang(1, { incarnation: 2 }) });
    await eventually('the second run', () => launcher.written('pid.2') !== undefined);
    process.kill(Number(launcher.written('pid.2')), 'SIGKILL');
    expect(await launcher.exited).toBe(137);
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed', incarnation: 2 });
  });

  it.each([
    ['what another start would not mend', 'exit 93', 93],
    ['what its pod finished', 'exit 0', 0],
  ])('never after %s', async (_what, engine, code) => {
    const { launcher, operator } = await launch(engine);
    expect(await launcher.exited).toBe(code);
    expect(operator.ofKind('reaped')).toEqual([]);
  });
});

describe('ranks that are ended by order', () => {
  it('are gone, with all that they started, when it is said; and nothing failed', async () => {
    const { launcher, operator, send, assign } = await launch(`setsid sleep 1000 & echo $! > stray; ${LIVES}`);
    await eventually('the rank', () => launcher.written('pid.1') !== undefined);
    send({ kind: 'endRanks', epoch: 1, incarnation: 9, message: 'not ours' });
    send({ kind: 'endRanks', epoch: 1, incarnation: 1, message: 'rank 3 failed' });
    await eventually('reaped', () => operator.ofKind('reaped').length > 0);
    expect(operator.ofKind('reaped')[0]?.cause).toBeUndefined();
    expect([launcher.written('pid.1'), launcher.written('stray')].map(Number).filter(isRunning)).toEqual([]);
    assign({ incarnation: 2 });
    await eventually('the second run', () => launcher.written('pid.2') !== undefined);
    // Who comes late with what was so before changes nothing.
    assign({ incarnation: 1 });
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
  });
});

describe('a launcher that waits for its next ranks', () => {
  it('ends at once with the cause of the failure when it is asked to stop', async () => {
    const { launcher, operator } = await launch('exit 5');
    await eventually('reaped', () => operator.ofKind('reaped').length > 0);
    launcher.child.kill('SIGTERM');
    expect(await launcher.exited).toBe(5);
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed', exitCode: 5 });
  });

  it('says of an incarnation that it never heard of that none of it is left, and never begins it', async () => {
    const { launcher, operator, send, assign } = await launch(FAILS_FIRST);
    await eventually('reaped', () => operator.ofKind('reaped').length > 0);
    send({ kind: 'endRanks', epoch: 1, incarnation: 2, message: 'over before it began' });
    await eventually('the answer', () => operator.ofKind('reaped').some(({ incarnation }) => incarnation === 2));
    assign({ incarnation: 2 });
    assign({ incarnation: 3 });
    await eventually('the third run', () => (launcher.written('runs') ?? '').includes('\n3 '));
    expect(launcher.written('runs')).not.toContain('\n2 ');
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
  });

  it('ends the same way when its epoch is over', async () => {
    const { launcher, operator, send } = await launch('exit 5');
    await eventually('reaped', () => operator.ofKind('reaped').length > 0);
    send({ kind: 'refused', code: 'staleEpoch', message: 'Epoch 1 has failed.' });
    expect(await launcher.exited).toBe(5);
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed' });
  });

  it('ends the same way when it has reached nobody for too long', async () => {
    const { launcher, operator } = await launch('exit 5', { environment: { COXSWAIN_PATIENCE_SECONDS: '1' } });
    await eventually('reaped', () => operator.ofKind('reaped').length > 0);
    expect(launcher.child.exitCode).toBeNull();
    await operator.stop();
    expect(await launcher.exited).toBe(5);
  });

  it('says first of all that its ranks are gone, whatever of theirs cannot be recorded', async () => {
    const engine = 'while [ ! -e fail ]; do sleep 0.02; done; cat facts >&3; exit 5';
    const { launcher, operator } = await launch(engine);
    await eventually('the assignment', () => operator.ofKind('heartbeat').some(({ state }) => state === 'running'));
    // Nobody can record it: each connection ends with that message, and all that follows it is not heard there.
    operator.behaviour = (message, connection, self) => {
      if (message.kind === 'checkpointSaved') connection.close();
      else obliging(message, connection, self);
    };
    writeFileSync(launcher.path('facts'), `${JSON.stringify(aCheckpointIn(launcher.directory, 10))}\n`);
    writeFileSync(launcher.path('fail'), '');
    const later = (): readonly string[] => (operator.connections[1]?.messages ?? []).map(({ kind }) => kind);
    await eventually('the checkpoint on another connection', () => later().includes('checkpointSaved'));
    expect(later().slice(0, 2)).toEqual(['hello', 'reaped']);
    expect(operator.ofKind('reaped').at(-1)?.cause).toMatchObject({
      kind: 'engineFailed',
      unreportedCheckpoints: [{ step: 10 }],
    });
    expect(operator.violations).toEqual([]);
  });

  it('says again to whoever leads next that its ranks are gone, and why', async () => {
    const { launcher, operator } = await launch('exit 5');
    await eventually('reaped', () => operator.ofKind('reaped').length > 0);
    operator.connections[0]?.close();
    await eventually(
      'the second time',
      () => operator.connections[1]?.messages.some(({ kind }) => kind === 'reaped') ?? false,
    );
    expect(operator.ofKind('hello')[1]).toMatchObject({ state: 'reaped', incarnation: 1 });
    launcher.child.kill('SIGTERM');
    await launcher.exited;
  });
});

describe('a launcher', () => {
  it('that was never given ranks and reaches nobody ends, and says whom it tried from where', async () => {
    const { launcher, operator } = await launch('echo > ran', {
      environment: { COXSWAIN_FIRST_CONTACT_SECONDS: '1', COXSWAIN_REPORT_URLS: 'https://127.0.0.1:9' },
    });
    expect(await launcher.exited).toBe(EXIT_CODES.operatorUnreachable.code);
    expect(operator.connections).toEqual([]);
    expect(launcher.written('ran')).toBeUndefined();
    expect(launcher.cause()).toMatchObject({
      kind: 'operatorUnreachable',
      message:
        'no operator was reached from node node-2 within 1 s, so no rank was started; tried https://127.0.0.1:9. The last try failed: https://127.0.0.1:9: connect ECONNREFUSED 127.0.0.1:9',
    });
  });

  it('that is welcome waits for its ranks as long as it takes', async () => {
    // Less than the 10 s between heartbeats, and enough for a busy machine to be welcomed in.
    const { launcher, operator } = await launch('echo > ran', {
      environment: { COXSWAIN_FIRST_CONTACT_SECONDS: '8' },
    });
    operator.behaviour = ({ kind, sequence }, connection) => {
      connection.send(kind === 'hello' ? { kind: 'welcome', leaderTerm: 1 } : { kind: 'ack', sequence });
    };
    // The first comes with the welcome, the next when a launcher that was not welcome would have ended.
    await eventually('another heartbeat', () => operator.ofKind('heartbeat').length > 1);
    expect(launcher.child.exitCode).toBeNull();
  });

  it('that is a spare starts nothing, and ends when it is asked to', async () => {
    const { launcher, operator } = await launch('echo > ran', { first: { ranks: '' } });
    await eventually('the assignment', () => operator.ofKind('heartbeat').some(({ state }) => state === 'running'));
    launcher.child.kill('SIGTERM');
    expect(await launcher.exited).toBe(EXIT_CODES.stopped.code);
    expect(existsSync(launcher.path('ran'))).toBe(false);
  });

  it('runs ranks that do not follow each other', async () => {
    const ranks = { ranks: '0,3', worldSize: 4, podCount: 2 };
    const { launcher } = await launch('echo $LOCAL_RANK/$LOCAL_WORLD_SIZE > rank.$RANK', { first: ranks });
    expect(await launcher.exited).toBe(0);
    expect([launcher.written('rank.0'), launcher.written('rank.3')]).toEqual(['0/2', '1/2']);
  });
});
