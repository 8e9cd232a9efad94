import { POD_ENV, type LauncherMessage } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { aWholeGang, anAuthority, FakeOperator, obliging, type Connection } from '../testing/fake-operator.ts';
import { LauncherProcess } from '../testing/launcher-process.ts';

const disposals: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

interface Pod {
  readonly operator: FakeOperator;
  readonly launcher: LauncherProcess;
}

/** A pod of one rank that writes what it was started with; the operator passes on where pods meet, and answers reports as it is told. */
async function aPod(
  onReport: (connection: Connection) => void,
  environment: Readonly<Record<string, string>> = {},
): Promise<Pod> {
  const operator = await FakeOperator.start(await anAuthority(), (message, connection, all) => {
    obliging(message, connection, all);
    if (message.kind === 'preflightBoard') {
      connection.send({ kind: 'preflightBoard', epoch: 1, address: message.address, key: message.key });
    }
    if (message.kind === 'preflight') onReport(connection);
  });
  disposals.push(() => operator.stop());
  operator.assignmentOf = () => aWholeGang(1);
  const launcher = new LauncherProcess({
    engine: 'echo started > rank; exit 0',
    environment: { [POD_ENV.preflight]: 'Quick', ...environment },
    operators: { urls: [operator.url], ca: (await anAuthority()).certPem },
  });
  disposals.push(() => launcher.dispose());
  return { operator, launcher };
}

const done = (connection: Connection): void => connection.send({ kind: 'preflightDone', epoch: 1 });
const reports = ({ operator }: Pod): readonly Extract<LauncherMessage, { kind: 'preflight' }>[] =>
  operator.ofKind('preflight');

describe('a launcher that is to look around', () => {
  it('tells what its pod is, and starts no rank before it is told that it may', async () => {
    const waiting: Connection[] = [];
    const pod = await aPod((connection) => void waiting.push(connection));
    await waitFor(() => waiting.length > 0, { what: 'the report' });
    expect(pod.launcher.written('rank')).toBeUndefined();
    for (const connection of waiting) done(connection);
    expect(await pod.launcher.exited).toBe(0);
    expect(pod.launcher.written('rank')).toBe('started');
    const [{ report } = { report: undefined }] = reports(pod);
    expect(report).toMatchObject({ outcome: 'Done', pairs: [], facts: { python: expect.any(String) } });
    expect(pod.launcher.stderr).toMatch(/Preflight done after/);
    expect(pod.operator.violations).toEqual([]);
  });

  it('tells it again to whoever leads next, who has heard none of it', async () => {
    let received = 0;
    const pod = await aPod((connection) => {
      received += 1;
      // The first one dies when it has acknowledged the report, and before it answers it.
      if (received === 1) setImmediate(() => connection.close());
      else done(connection);
    });
    expect(await pod.launcher.exited).toBe(0);
    expect(reports(pod).length).toBeGreaterThan(1);
    expect(new Set(pod.operator.ofKind('preflightBoard').map(({ address, key }) => `${address} ${key}`)).size).toBe(1);
    expect(pod.operator.ofKind('preflightBoard').length).toBeGreaterThan(1);
    expect(pod.launcher.stderr).not.toMatch(/does not answer/);
  });

  it('goes on without a look where the image has no Python, and says so', async () => {
    const pod = await aPod(done, { PATH: '/nowhere' });
    await waitFor(() => reports(pod).length > 0, { what: 'the report' });
    const note = 'python3 cannot be started: spawn python3 ENOENT';
    expect(reports(pod)[0]?.report).toMatchObject({ outcome: 'Skipped', note });
    expect(await pod.launcher.exited).toBe(0);
    expect(pod.launcher.written('rank')).toBe('started');
  });

  it('stops when it is asked to, although nobody has answered', async () => {
    const pod = await aPod((): void => undefined);
    await waitFor(() => reports(pod).length > 0, { what: 'the report' });
    pod.launcher.child.kill('SIGTERM');
    expect(await pod.launcher.exited).toBe(75);
    expect(pod.launcher.written('rank')).toBeUndefined();
  });

  it('does not look where it is not asked to', async () => {
    const pod = await aPod(done, { [POD_ENV.preflight]: 'Off' });
    expect(await pod.launcher.exited).toBe(0);
    expect(reports(pod)).toEqual([]);
  });
});
