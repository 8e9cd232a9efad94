// A little over 400 lines: all tests of what a real launcher and its operator say to each other share their helpers.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT_CODES, POD_ENV, type RankAssignment } from '@coxswain/api-types';
import { createAuthority, freePort, waitFor } from '@coxswain/local-cluster';
import { aCheckpointIn } from '../testing/a-checkpoint.ts';
import { aDcpCheckpointIn } from '../testing/a-dcp-checkpoint.ts';
import { anAuthority, aWholeGang, FakeOperator, obliging, type Behaviour } from '../testing/fake-operator.ts';
import { LauncherProcess, type Start } from '../testing/launcher-process.ts';
import { hangsOnce, inVerifier } from '../testing/in-verifier.ts';

const disposals: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

async function anOperator(behaviour: Behaviour = obliging): Promise<FakeOperator> {
  const operator = await FakeOperator.start(await anAuthority(), behaviour);
  disposals.push(() => operator.stop());
  return operator;
}

async function launch(urls: readonly string[], start: Omit<Start, 'operators'>): Promise<LauncherProcess> {
  const operators = { urls, ca: (await anAuthority()).certPem };
  const launcher = new LauncherProcess({ ...start, operators });
  disposals.push(() => launcher.dispose());
  return launcher;
}

function eventually<T>(what: string, condition: () => T): Promise<unknown> {
  return waitFor(condition, { intervalMs: 10, what });
}

/** One rank of two, each in a pod of its own. */
function ofTwoPods(podIndex: number): RankAssignment {
  return aWholeGang(2, { podIndex, podCount: 2, ranks: String(podIndex) });
}

/** A script that lives until a file named `end` is there. */
const UNTIL_END = 'while [ ! -e end ]; do sleep 0.02; done';

/** NODE_OPTIONS under which the two seconds that a launcher gives its last report never pass. */
const WITHOUT_END_OF_LAST_WORD = `--import data:text/javascript,${encodeURIComponent(
  'const set = setTimeout; globalThis.setTimeout = (act, ms, ...more) => set(act, ms === 2_000 ? 3_600_000 : ms, ...more);',
)}`;

/** NODE_OPTIONS under which the kernel ends a process that inspects the bytes of a save. */
const DIES_WHEN_IT_INSPECTS = `--import data:text/javascript,${encodeURIComponent(
  `if (process.argv.at(-1).includes('"about":"bytes"')) process.kill(process.pid, 'SIGKILL');`,
)}`;

/** NODE_OPTIONS under which an inspection of the bytes of a save writes that it began, and never ends. */
const HANGS_WHEN_IT_INSPECTS = `--import data:text/javascript,${encodeURIComponent(
  `import { writeFileSync } from 'node:fs';
  if (process.argv.at(-1).includes('"about":"bytes"')) {
    writeFileSync('inspecting', 'yes');
    await new Promise(() => setInterval(() => process.stdout.write(String.fromCharCode(10)), 50));
  }`,
)}`;

function step(number: number, more: object = {}): string {
  return JSON.stringify({ kind: 'step', step: number, stepTimeMs: 5, tokens: 64, timingsMs: { forward: 2 }, ...more });
}

describe('a launcher and its operator', () => {
  it.each([
    ['an operator that listens to them', true],
    ['one that does not', false],
  ])('tell watermarks, marks, and what is no finite number, to %s', async (_who, listens) => {
    const operator = await anOperator((message, connection, self) => {
      obliging(message, connection, self);
      const parts = ['more', 'watermarks', 'notFinite', 'marks'];
      if (message.kind === 'hello' && listens) connection.send({ kind: 'listensTo', parts });
    });
    const group = { group: '0', operation: 'barrier', bytes: 0, enqueued: 2, started: 2, completed: 1, ageMs: 1 };
    const watermark = { phase: 'saving', phaseAgeMs: 1, groups: [group] };
    const beat = JSON.stringify({ kind: 'heartbeat', step: 9, watermark });
    const far = JSON.stringify({ kind: 'marks', imported: 60_000, loaded: null });
    const launcher = await launch([operator.url], {
      engine: `echo '${far}' >&3; echo '${step(9, { notFinite: { loss: 'NaN' } })}' >&3; echo '${beat}' >&3; ${UNTIL_END}`,
    });
    const beats = (): boolean => operator.ofKind('heartbeat').some(({ ranks }) => ranks[0]?.step === 9);
    await eventually('the heartbeat and the step', () => beats() && operator.ofKind('step').length > 0);
    const [reported] = operator.ofKind('step');
    expect(reported?.report).toMatchObject({ step: 9, loss: null });
    expect(reported?.report.notFinite).toEqual(listens ? { loss: 'NaN' } : undefined);
    const last = operator.ofKind('heartbeat').at(-1);
    expect(last?.watermarks?.map(({ rank, phase }) => [rank, phase])).toEqual(listens ? [[0, 'saving']] : undefined);
    expect(Object.keys(last?.marks ?? {})).toEqual(listens ? ['started', 'imported'] : []);
    if (listens) expect(last?.marks?.imported).toBeGreaterThanOrEqual(60_000);
    writeFileSync(launcher.path('end'), '');
    await launcher.exited;
    expect(operator.violations).toEqual([]);
  });

  it('tell which rank finished before the others, and what was seen of their work', async () => {
    const operator = await anOperator((message, connection, self) => {
      obliging(message, connection, self);
      if (message.kind === 'hello') connection.send({ kind: 'listensTo', parts: ['processes'] });
    });
    operator.assignmentOf = () => aWholeGang(2, { saveDirectory: 'saves' });
    const launcher = await launch([operator.url], { engine: `[ $RANK = 0 ] || exit 0; ${UNTIL_END}` });
    const last = (): readonly string[] =>
      operator
        .ofKind('heartbeat')
        .at(-1)
        ?.processes?.map(({ rank, state }) => `${rank} ${state === 'finished' ? state : 'runs'}`) ?? [];
    await eventually('the end of rank 1', () => last().includes('1 finished'));
    expect(last().toSorted()).toEqual(['0 runs', '1 finished']);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    const [ended] = operator.ofKind('ended');
    expect(ended?.cause.work).toMatchObject({ stepsVisible: false, savedFiles: false });
    expect(operator.violations).toEqual([]);
  });

  it('say hello with the token, beat, tell steps of all local ranks as one, and part with the cause', async () => {
    const operator = await anOperator();
    operator.assignmentOf = () => aWholeGang(2);
    const launcher = await launch([operator.url], {
      engine: `[ $RANK = 1 ] || echo '${step(1, { loss: 2.5, gradNorm: 1 })}' >&3; [ $RANK = 0 ] || echo '${step(1)}' >&3; ${UNTIL_END}`,
    });
    await eventually('the step', () => operator.ofKind('step').length > 0);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    const [connection] = operator.connections;
    expect(connection?.authorization).toBe('Bearer a-token');
    expect(connection?.messages[0]).toMatchObject({ kind: 'hello', podUid: 'pod-uid', epoch: 1, jobUid: 'job-uid' });
    expect(operator.ofKind('heartbeat').length).toBeGreaterThan(0);
    expect(operator.ofKind('step')).toMatchObject([
      {
        report: {
          step: 1,
          loss: 2.5,
          gradNorm: 1,
          tokens: 64,
          ranks: [{ rank: 0 }, { rank: 1, timingsMs: { forward: 2 } }],
        },
      },
    ]);
    expect(operator.ofKind('ended')).toMatchObject([{ cause: { kind: 'finished', lastStep: 1 } }]);
    const sequences = operator.messages.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
    expect(operator.violations).toEqual([]);
  });

  it('bring two pods of a gang together without a name or a fixed port', async () => {
    const operator = await anOperator();
    operator.assignmentOf = (podIndex) => ofTwoPods(podIndex);
    const pod = (index: number): Omit<Start, 'operators'> => ({
      engine: 'echo $MASTER_ADDR:$MASTER_PORT > met',
      environment: { [POD_ENV.podIndex]: String(index), [POD_ENV.podUid]: `pod-${index}` },
    });
    const later = await launch([operator.url], pod(1));
    await eventually('the hello of the pod that must wait', () => operator.ofKind('hello').length === 1);
    expect(operator.rendezvous).toBeUndefined();
    const first = await launch([operator.url], pod(0));
    expect([await first.exited, await later.exited]).toEqual([0, 0]);
    expect(first.written('met')).toBe(operator.rendezvous);
    expect(later.written('met')).toBe(operator.rendezvous);
  });

  it('stop waiting for each other when asked to, and no rank was started', async () => {
    const operator = await anOperator();
    operator.assignmentOf = (podIndex) => ofTwoPods(podIndex);
    const launcher = await launch([operator.url], {
      engine: 'echo started > ran',
      environment: { [POD_ENV.podIndex]: '1' },
    });
    await eventually('the assignment', () => operator.ofKind('heartbeat').some(({ state }) => state === 'running'));
    launcher.child.kill('SIGTERM');
    expect(await launcher.exited).toBe(EXIT_CODES.stopped.code);
    expect(launcher.written('ran')).toBeUndefined();
  });

  it('find each other when a follower names the leader', async () => {
    const leader = await anOperator();
    const follower = await anOperator((message, connection) => {
      if (message.kind !== 'hello') return;
      connection.send({ kind: 'refused', code: 'notLeader', message: 'I follow.', leaderUrl: leader.url });
    });
    const launcher = await launch([follower.url], { engine: UNTIL_END });
    await eventually('the hello to the leader', () => leader.ofKind('hello').length > 0);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    expect(leader.ofKind('ended')).toHaveLength(1);
    expect(follower.messages.map(({ kind }) => kind)).toEqual(['hello']);
  });

  it('find each other among several addresses of which one is dead', async () => {
    const operator = await anOperator();
    const dead = `https://127.0.0.1:${await freePort()}`;
    const launcher = await launch([dead, operator.url, dead], { engine: UNTIL_END });
    await eventually('a hello', () => operator.ofKind('hello').length > 0);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
  });

  it('meet again after the connection broke, and what was not acknowledged is told again in order', async () => {
    let isFirst = true;
    const operator = await anOperator((message, connection, self) => {
      if (!isFirst || message.kind === 'hello') return obliging(message, connection, self);
      if (message.kind !== 'checkpointSaved' || message.checkpoint.step !== 20) return undefined;
      isFirst = false;
      return connection.close();
    });
    const launcher = await launch([operator.url], {
      engine: `echo > up; ${UNTIL_END.replace('end', 'go')}; cat facts >&3; ${UNTIL_END}`,
    });
    await eventually('the rank', () => existsSync(launcher.path('up')));
    const saved = [10, 20].map((number) => aCheckpointIn(launcher.directory, number));
    const facts = [{ kind: 'resumed', step: 5 }, ...saved];
    writeFileSync(launcher.path('facts'), facts.map((fact) => `${JSON.stringify(fact)}\n`).join(''));
    writeFileSync(launcher.path('go'), '');
    await eventually('the second connection to hear all', () => operator.ofKind('checkpointSaved').length === 4);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    const reported = operator.connections[1]?.messages.filter(({ kind }) => kind !== 'heartbeat' && kind !== 'hello');
    expect(reported).toMatchObject([
      { kind: 'resumed', step: 5 },
      {
        kind: 'checkpointSaved',
        checkpoint: { step: 10, directory: 'step-00000010', format: 'sleeper', bytes: 8, files: 1 },
      },
      { kind: 'checkpointSaved', checkpoint: { step: 20 } },
      { kind: 'ended' },
    ]);
    expect(launcher.cause().unreportedCheckpoints).toEqual([]);
  });

  it('part at once when the epoch is stale: the ranks are killed', async () => {
    const operator = await anOperator((message, connection, self) => {
      if (message.kind !== 'heartbeat' || message.rendezvous === null) return obliging(message, connection, self);
      connection.send({ kind: 'refused', code: 'staleEpoch', message: 'Epoch 2 runs.' });
    });
    const launcher = await launch([operator.url], { engine: 'trap "" TERM; while :; do sleep 1000; done' });
    expect(await launcher.exited).toBe(EXIT_CODES.fenced.code);
    expect(launcher.cause()).toMatchObject({
      kind: 'fenced',
      message: 'the operator refused this attempt: Epoch 2 runs.',
    });
  });

  it('part at once when the epoch is over while the last word is said, and what was not heard stays in the last words', async () => {
    const operator = await anOperator((message, connection, self) => {
      if (message.kind === 'checkpointSaved') return;
      if (message.kind !== 'ended') return obliging(message, connection, self);
      connection.send({ kind: 'refused', code: 'staleEpoch', message: 'Epoch 1 has failed.' });
    });
    const launcher = await launch([operator.url], {
      engine: `${UNTIL_END}; cat facts >&3; exit 3`,
      environment: { NODE_OPTIONS: WITHOUT_END_OF_LAST_WORD },
    });
    await eventually('the hello', () => operator.ofKind('hello').length > 0);
    writeFileSync(launcher.path('facts'), `${JSON.stringify(aCheckpointIn(launcher.directory, 10))}\n`);
    writeFileSync(launcher.path('end'), '');
    await eventually('the end of a launcher that waits for nobody', () => launcher.child.exitCode !== null);
    expect(await launcher.exited).toBe(3);
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed', unreportedCheckpoints: [{ step: 10 }] });
    expect(launcher.stderr).toContain('The operator has not acknowledged everything');
  });

  it('keep trying after a refusal that may pass', async () => {
    let refusals = 2;
    const operator = await anOperator((message, connection, self) => {
      if (message.kind !== 'hello' || refusals-- <= 0) return obliging(message, connection, self);
      return connection.send({ kind: 'refused', code: 'unknownPod', message: 'Not seen yet.' });
    });
    const launcher = await launch([operator.url], { engine: UNTIL_END });
    await eventually('a third hello', () => operator.ofKind('heartbeat').length > 0);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    expect(launcher.stderr).toContain('refused (unknownPod): Not seen yet.');
  });

  it('use a token that was renewed in between', async () => {
    const operator = await anOperator();
    const launcher = await launch([operator.url], { engine: UNTIL_END });
    await eventually('the first hello', () => operator.ofKind('hello').length === 1);
    writeFileSync(launcher.path('token'), 'renewed\n');
    operator.connections[0]?.close();
    await eventually('the second hello', () => operator.ofKind('hello').length === 2);
    writeFileSync(launcher.path('end'), '');
    await launcher.exited;
    expect(operator.connections.map(({ authorization }) => authorization)).toEqual([
      'Bearer a-token',
      'Bearer renewed',
    ]);
  });

  it('never meet when the certificate is of another authority: the token is not sent', async () => {
    const impostor = await FakeOperator.start(await createAuthority('impostor'));
    disposals.push(() => impostor.stop());
    const launcher = await launch([impostor.url], { engine: UNTIL_END });
    await eventually('the complaint', () => launcher.stderr.includes('The operator cannot be reached'));
    expect(launcher.stderr).toMatch(/of another authority than this pod was given .* No rank has started; retrying/);
    launcher.child.kill('SIGTERM');
    expect(await launcher.exited).toBe(EXIT_CODES.stopped.code);
    expect(impostor.connections).toEqual([]);
  });
});

describe('an operator that is away', () => {
  it('stops neither the training nor its end, and the termination message keeps the checkpoints', async () => {
    const operator = await anOperator();
    const launcher = await launch([operator.url], { engine: `echo > up; ${UNTIL_END}; cat facts >&3; exit 4` });
    await eventually('the rank', () => existsSync(launcher.path('up')));
    await operator.stop();
    const saved = aCheckpointIn(launcher.directory, 30);
    writeFileSync(launcher.path('facts'), `${JSON.stringify(saved)}\n`);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(4);
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed', unreportedCheckpoints: [{ step: 30, bytes: 8 }] });
  });
});

describe('a launcher that is killed before its ranks have ended', () => {
  it('has written by then that it was asked to stop, and which checkpoints nobody has heard of', async () => {
    const operator = await anOperator((message, connection, self) => {
      if (message.kind !== 'checkpointSaved') obliging(message, connection, self);
    });
    const launcher = await launch([operator.url], {
      engine: `trap "" TERM; ${UNTIL_END.replace('end', 'facts')}; cat facts >&3; ${UNTIL_END}`,
    });
    await eventually('the hello', () => operator.ofKind('hello').length > 0);
    const saved = `${JSON.stringify(aCheckpointIn(launcher.directory, 30))}\n`;
    writeFileSync(launcher.path('facts.new'), saved);
    renameSync(launcher.path('facts.new'), launcher.path('facts'));
    await eventually('the checkpoint', () => operator.ofKind('checkpointSaved').length > 0);
    launcher.child.kill('SIGTERM');
    await eventually('the message', () => launcher.written('termination') !== undefined);
    expect(launcher.child.exitCode).toBeNull();
    expect(launcher.cause()).toMatchObject({
      kind: 'stopped',
      message: 'asked to stop, and killed before its ranks had ended',
      unreportedCheckpoints: [{ step: 30 }],
    });
  });
});

describe('a checkpoint that was saved', () => {
  it('is told when the file server answers again, as long as the ranks run', async () => {
    const operator = await anOperator();
    const engine = `${UNTIL_END.replace('end', 'facts')}; cat facts >&3; ${UNTIL_END}`;
    const directory = mkdtempSync(join(tmpdir(), 'coxswain-hang-'));
    const environment = {
      // A look is a process of its own: with less patience a busy machine, which takes seconds to start one, gives up each of them.
      COXSWAIN_MOUNT_PATIENCE_SECONDS: '20',
      NODE_OPTIONS: inVerifier(directory, hangsOnce(directory)),
    };
    const launcher = await launch([operator.url], { engine, environment });
    const saved = `${JSON.stringify(aCheckpointIn(launcher.directory, 30))}\n`;
    writeFileSync(launcher.path('facts.new'), saved);
    renameSync(launcher.path('facts.new'), launcher.path('facts'));
    await eventually('the checkpoint', () => operator.ofKind('checkpointSaved').length > 0);
    expect(existsSync(join(directory, 'has-hung'))).toBe(true);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    rmSync(directory, { recursive: true });
  });
});

/** Of so many steps a second, since then: those of two seconds at once, and each at its time; what waits when the ranks end is told as well. */
function mostReported(stepsPerSecond: number, sinceMs: number): number {
  return (2 + (performance.now() - sinceMs) / 1_000) * stepsPerSecond + 1;
}

describe('the bytes of a save', () => {
  /** The ranks run until the save is judged: once they have ended, little time is left for its bytes. */
  async function saved(spoil?: (path: string) => void, listensTo: readonly string[] = ['contents']) {
    const operator = await anOperator();
    operator.listensTo = listensTo;
    const launcher = await launch([operator.url], {
      engine: `while [ ! -e ready ]; do sleep 0.02; done; cat facts >&3; ${UNTIL_END}`,
    });
    const step = { kind: 'step', step: 20, loss: 2.5, tokens: 64, stepTimeMs: 1 };
    const facts = [step, aDcpCheckpointIn(launcher.directory, spoil)];
    writeFileSync(launcher.path('facts'), facts.map((fact) => `${JSON.stringify(fact)}\n`).join(''));
    writeFileSync(launcher.path('ready'), '');
    const reported = (): readonly object[] => operator.ofKind('checkpointSaved').map(({ checkpoint }) => checkpoint);
    await eventually(
      'the save to be judged',
      () => reported().length > 0 || launcher.stderr.includes('is not reported'),
    );
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    return { reported: reported(), launcher };
  }

  it('are reported with the save, and to an operator that does not read them are not', async () => {
    const [newest, newer, older] = await Promise.all([
      saved(undefined, ['contents', 'progress']),
      saved(),
      saved(undefined, []),
    ]);
    const progress = { loss: 2.5, lossStep: 20, tokens: 20 * 64, fromStep: 0 };
    expect([newest.reported, newer.reported, older.reported]).toMatchObject([
      [{ progress }],
      [expect.not.objectContaining({ progress })],
      [expect.not.objectContaining({ progress })],
    ]);
    const inspected = { verification: { verdict: 'sound', by: 'Launcher' }, contents: { tensors: 6 } };
    expect(newer.reported).toMatchObject([{ step: 20, ...inspected }]);
    expect(older.reported).toMatchObject([{ step: 20 }]);
    expect(older.reported).not.toMatchObject([inspected]);
  });

  it('that are incomplete are reported as such, and to an operator that reads no verdict the save is not', async () => {
    const spoil = (path: string): void => rmSync(join(path, '__1_0.distcp'));
    const [newer, older] = await Promise.all([saved(spoil), saved(spoil, [])]);
    expect(newer.reported).toMatchObject([{ step: 20, verification: { verdict: 'incomplete', by: 'Launcher' } }]);
    expect(newer.launcher.stderr).toMatch(
      /step 20 is incomplete and is not used unless another node finds it sound: File __1_0\.distcp is not there/,
    );
    expect(older.reported).toEqual([]);
    expect(older.launcher.stderr).toMatch(/step 20 is incomplete and is not reported: File __1_0\.distcp is not there/);
  });

  it('that no process can read for want of memory say nothing of the save, which is reported', async () => {
    const operator = await anOperator();
    operator.listensTo = ['contents'];
    const launcher = await launch([operator.url], {
      engine: `${UNTIL_END}; cat facts >&3`,
      environment: { NODE_OPTIONS: DIES_WHEN_IT_INSPECTS },
    });
    writeFileSync(launcher.path('facts'), `${JSON.stringify(aDcpCheckpointIn(launcher.directory))}\n`);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    const [{ checkpoint } = {}] = operator.ofKind('checkpointSaved');
    expect(checkpoint).toMatchObject({ step: 20 });
    expect(checkpoint?.verification).toBeUndefined();
    expect(launcher.stderr).toMatch(/reported without a verification of its bytes: no process could verify it/);
  });
});

it('a save of ranks that are asked to stop is reported before the pod is killed, however long its inspection takes', async () => {
  const operator = await anOperator();
  operator.listensTo = ['contents'];
  const launcher = await launch([operator.url], {
    engine: `trap "" TERM; ${UNTIL_END.replace('end', 'facts')}; cat facts >&3; ${UNTIL_END}`,
    environment: { NODE_OPTIONS: HANGS_WHEN_IT_INSPECTS },
  });
  writeFileSync(launcher.path('facts.new'), `${JSON.stringify(aDcpCheckpointIn(launcher.directory))}\n`);
  renameSync(launcher.path('facts.new'), launcher.path('facts'));
  await eventually('the inspection', () => launcher.written('inspecting') !== undefined);
  launcher.child.kill('SIGTERM');
  await eventually('the signal', () => launcher.stderr.includes('Asked to stop'));
  const endedMs = performance.now();
  writeFileSync(launcher.path('end'), '');
  await launcher.exited;
  expect(operator.ofKind('checkpointSaved')).toMatchObject([{ checkpoint: { step: 20 } }]);
  expect(performance.now() - endedMs).toBeLessThan(5_000);
});

describe('an engine that is not to be believed', () => {
  it('cannot report a checkpoint that is not whole, nor from another rank', async () => {
    const operator = await anOperator();
    operator.listensTo = ['brokenSaves'];
    operator.assignmentOf = () => aWholeGang(2);
    const launcher = await launch([operator.url], { engine: `${UNTIL_END}; cat facts.$RANK >&3` });
    const saved = aCheckpointIn(launcher.directory, 40);
    const lies = [
      { ...saved, manifestSha256: 'f'.repeat(64) },
      { ...saved, step: 41 },
      { ...saved, directory: '..' },
      { ...saved, directory: 'step-00000099' },
    ];
    writeFileSync(launcher.path('facts.0'), lies.map((lie) => `${JSON.stringify(lie)}\n`).join(''));
    writeFileSync(launcher.path('facts.1'), `${JSON.stringify(saved)}\n`);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    expect(operator.ofKind('checkpointSaved')).toEqual([]);
    expect(launcher.stderr.match(/did not verify/g)).toHaveLength(3);
    const broken = operator.ofKind('heartbeat').findLast(({ brokenSaves }) => brokenSaves !== undefined);
    expect(broken?.brokenSaves?.map(({ step }) => step)).toEqual([40, 41, 40]);
  });

  it('is heard through any amount of garbage, which is counted', async () => {
    const operator = await anOperator();
    const garbage = String.raw`head -c 300000 /dev/urandom >&3; echo >&3; echo '{"kind":"step","step":1e999}' >&3; yes '{"kind":"no"}' | head -5000 >&3`;
    const launcher = await launch([operator.url], { engine: `${garbage}; echo '${step(7)}' >&3; ${UNTIL_END}` });
    await eventually('the step', () => operator.ofKind('step').length > 0);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    expect(operator.ofKind('step')).toMatchObject([{ report: { step: 7 } }]);
    expect(operator.violations).toEqual([]);
    expect(launcher.stderr).toMatch(/\d+ lines on the report socket were no facts/);
  });

  it('that makes a thousand steps in no time fills nobody with them: the newest is told', async () => {
    const operator = await anOperator();
    const begunMs = performance.now();
    const engine = `i=1; while [ $i -le 1000 ]; do echo "{\\"kind\\":\\"step\\",\\"step\\":$i,\\"stepTimeMs\\":1}" >&3; i=$((i+1)); done`;
    const launcher = await launch([operator.url], { engine: `${engine}; ${UNTIL_END}` });
    await eventually('the newest', () => operator.ofKind('step').at(-1)?.report.step === 1000);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    const steps = operator.ofKind('step').map(({ report }) => report.step);
    expect(steps.length).toBeLessThanOrEqual(mostReported(20, begunMs));
    expect(steps.at(-1)).toBe(1000);
    expect(launcher.stderr).toMatch(/The series lacks \d+ steps/);
  });

  it('is told at the pace that the operator asks for: steps gathered, and how many were left out', async () => {
    const operator = await anOperator((message, connection, self) => {
      obliging(message, connection, self);
      if (message.kind === 'hello') connection.send({ kind: 'pace', stepsPerSecond: 5, gatherMs: 300 });
    });
    const begunMs = performance.now();
    const engine = `sleep 0.5; i=1; while [ $i -le 200 ]; do echo "{\\"kind\\":\\"step\\",\\"step\\":$i,\\"stepTimeMs\\":1}" >&3; i=$((i+1)); sleep 0.005; done`;
    const launcher = await launch([operator.url], { engine: `${engine}; ${UNTIL_END}` });
    await eventually('the newest', () => operator.ofKind('steps').at(-1)?.reports.at(-1)?.step === 200);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    const frames = operator.ofKind('steps');
    const reported = frames.flatMap(({ reports }) => reports);
    expect(reported.length).toBeLessThanOrEqual(mostReported(5, begunMs));
    expect(frames.length).toBeLessThan(reported.length);
    expect(reported.length + frames.reduce((sum, { skipped }) => sum + skipped, 0)).toBe(200);
    expect(operator.violations).toEqual([]);
  });
});
