import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withLock } from './lock.ts';

/** Accounts need not exist: the kernel knows users by number alone. */
const [ALICE, BOB] = [41_001, 41_002];
const IS_ROOT = process.getuid?.() === 0;
const LONG_AGO = new Date(Date.now() - 2 * 60 * 60_000);
/** Larger than any process id that Linux assigns. */
const DEAD_PID = 2 ** 22 + 1;
const PATIENCE_MS = 60_000;

/** Node programs that run as Bob. Modules are loaded as this user first, because Bob need not be able to read the checkout. */
const AS_ROOT_BECOME_BOB = `process.setgroups([]); process.setgid(${BOB}); process.setuid(${BOB});`;
const ELSE_BELIEVE_TO_BE_BOB = `process.getuid = () => ${BOB};`;
const URL_OF = (file: string): string => JSON.stringify(pathToFileURL(join(import.meta.dirname, file)).href);

/**
 * As root, these tests run as two real users. An ordinary user cannot become another one. There, a folder that its owner
 * cannot empty stands in for the other user's folder (removal fails with the same `EACCES`), and where the user id alone
 * decides, the second process believes to have another one.
 */
describe('a machine that two users share', () => {
  let shared: string;

  beforeEach(() => {
    shared = mkdtempSync(join(tmpdir(), 'shared-machine-'));
    chmodSync(shared, 0o1777);
  });

  afterEach(() => {
    spawnSync('chmod', ['-R', 'u+rwX', shared]);
    rmSync(shared, { recursive: true, force: true });
  });

  const run = (
    identity: string,
    file: string,
    program: string,
  ): { out: string; error: string; status: number | null } => {
    const { NODE_OPTIONS: _ofRunner, COXSWAIN_RUN_DIR: _ofTheTests, ...env } = process.env;
    const code = `const tested = await import(${URL_OF(file)}); ${identity} ${program}`;
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      env: { ...env, TMPDIR: shared },
      encoding: 'utf8',
      timeout: PATIENCE_MS,
    });
    return { out: stdout.trim(), error: stderr, status };
  };
  const runAsBob = (file: string, program: string) => run(IS_ROOT ? AS_ROOT_BECOME_BOB : '', file, program);
  const runWithBobsId = (file: string, program: string) =>
    run(IS_ROOT ? AS_ROOT_BECOME_BOB : ELSE_BELIEVE_TO_BE_BOB, file, program);

  const leaveRunDirectory = (name: string, uid: number): string => {
    const path = join(shared, `coxswain-run-${DEAD_PID}-system-${name}`);
    mkdirSync(join(path, 'data'), { recursive: true });
    if (IS_ROOT) [join(path, 'data'), path].forEach((folder) => chownSync(folder, uid, uid));
    if (uid === ALICE) chmodSync(path, IS_ROOT ? 0o700 : 0o500);
    utimesSync(path, LONG_AGO, LONG_AGO);
    return path;
  };

  it('keeps the run directory of one user when another user starts, and removes the one of that user', () => {
    const [ofAlice, ofBob] = [leaveRunDirectory('a', ALICE), leaveRunDirectory('b', BOB)];

    const { out, error, status } = runAsBob('directories.ts', `console.log(tested.createRunDirectory('system').path);`);

    expect({ status, error }).toEqual({ status: 0, error: '' });
    expect(out).toMatch(new RegExp(`^${shared}/coxswain-run-\\d+-system-`));
    expect([existsSync(join(ofAlice, 'data')), existsSync(ofBob)]).toEqual([true, false]);
  });

  it('starts in a temporary folder that only root may list', () => {
    chmodSync(shared, IS_ROOT ? 0o1733 : 0o1333);

    const { out, error } = runAsBob('directories.ts', `console.log(tested.createRunDirectory('system').path);`);

    expect({ out, error }).toEqual({ out: expect.stringContaining('/coxswain-run-'), error: '' });
  });

  it('lets both users hold the lock of one name at the same time', async () => {
    const name = `two-users-${process.pid}`;
    const program = `await tested.withLock('${name}', async () => console.log('locked'));`;

    const ofBob = await withLock(name, () => Promise.resolve(runWithBobsId('lock.ts', program)));

    expect(ofBob).toEqual({ out: 'locked', error: '', status: 0 });
  });

  it.each<[string, (path: string) => void]>([
    ['directory', (path) => mkdirSync(path, { mode: 0o777 })],
    ['symbolic link', (path) => symlinkSync(tmpdir(), path)],
  ])('keeps nothing in a %s that another user planted', (kind, plant) => {
    const path = join(shared, 'coxswain');
    plant(path);

    const program = `try { tested.persistentDirectory(${JSON.stringify(path)}); } catch (error) { console.log(error.message); }`;
    const { out, error } = runWithBobsId('directories.ts', program);

    expect({ out, error }).toEqual({
      out: `${path} is a ${kind} of user ${process.getuid?.()}, in a folder that all users share; its owner could read the keys and tokens kept there. Choose another directory.`,
      error: '',
    });
  });
});
