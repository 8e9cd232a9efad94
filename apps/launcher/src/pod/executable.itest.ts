import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { anAuthority, aWholeGang, FakeOperator } from '../testing/fake-operator.ts';
import { LauncherProcess } from '../testing/launcher-process.ts';
import { LAUNCHER_VERSION } from '../program/version.ts';

const run = promisify(execFile);
const APP = fileURLToPath(new URL('../..', import.meta.url));
const BUILT = join(APP, 'dist', 'coxswain-launcher');

describe('the executable', () => {
  const image = mkdtempSync(join(tmpdir(), 'image-'));
  const installed = join(image, 'bin', 'coxswain-launcher');

  beforeAll(async () => {
    if (!existsSync(BUILT)) await run(process.execPath, ['build.ts'], { cwd: APP });
    await run(BUILT, ['install', '--to', join(image, 'bin')], { env: { PATH: '/nowhere' } });
  });

  afterAll(() => rmSync(image, { recursive: true, force: true }));

  it('installs itself whole, and again over itself', async () => {
    await run(installed, ['install', installed], { env: { PATH: '/nowhere' } });
    expect(statSync(installed).size).toBe(statSync(BUILT).size);
  });

  it('rests in a pod that is there for its images, until it is told to end', async () => {
    const resting = spawn(installed, ['rest'], { cwd: image, env: {} });
    const ended = once(resting, 'exit');
    const [printed] = (await once(resting.stdout, 'data')) as [Buffer];
    expect(printed.toString()).toMatch(/idle until SIGTERM or SIGINT/);
    resting.kill('SIGTERM');
    const [code, signal] = (await ended) as [number | null, string | null];
    expect([code, signal]).toEqual([0, null]);
  });

  it('tells its version in an image without Node, whatever NODE_OPTIONS says', async () => {
    const { stdout } = await run(installed, ['version'], { cwd: image, env: { NODE_OPTIONS: '--no-such-option' } });
    expect(stdout).toBe(`${LAUNCHER_VERSION}\n`);
  });

  it('starts ranks there', async () => {
    const operator = await FakeOperator.start(await anAuthority());
    operator.assignmentOf = () => aWholeGang(2);
    const launcher = new LauncherProcess({
      launcher: [installed],
      operators: { urls: [operator.url], ca: (await anAuthority()).certPem },
      engine: 'echo rank $RANK of $WORLD_SIZE; exit $RANK',
      environment: { PATH: '/nowhere' },
    });
    expect(await launcher.exited).toBe(1);
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed', rank: 1 });
    await launcher.dispose();
    await operator.stop();
  });
});
