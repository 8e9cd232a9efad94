import { execFile } from 'node:child_process';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import { cacheDirectory, onPath, removeOwnFolders, withLock } from '@coxswain/local-cluster';

/** How to start a browser without a screen; the fields are those of Playwright's `chromium.launch`. */
export interface Chromium {
  readonly executablePath: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Tests load only pages of their own; a container rarely allows the sandbox's namespaces, and /dev/shm is small there. */
const ARGS = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--font-render-hinting=none'];
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const PACKAGE = '@sparticuz/chromium';
const ARCHIVES = ['fonts.tar.br', 'al2023.tar.br', 'swiftshader.tar.br'];

/**
 * A browser that is known to start here: `CHROMIUM_PATH`, one on PATH, or the one of the npm package, unpacked into the
 * cache together with the shared libraries that a bare system lacks. Rejects with what to do when none starts.
 */
export async function findChromium(): Promise<Chromium> {
  const chosen = process.env['CHROMIUM_PATH'];
  if (chosen !== undefined && chosen !== '') {
    return started({ executablePath: chosen, args: ARGS, env: environment() });
  }
  for (const path of NAMES.map(onPath)) {
    if (path !== undefined && (await whyNotStarting({ executablePath: path, args: ARGS, env: environment() })) === '') {
      return { executablePath: path, args: ARGS, env: environment() };
    }
  }
  return started(await packagedChromium());
}

async function packagedChromium(): Promise<Chromium> {
  if (process.arch !== 'x64') {
    throw new Error(
      `the npm package ${PACKAGE} has a browser for x86-64 only; install Chromium (Debian, Ubuntu: apt install chromium) or set CHROMIUM_PATH`,
    );
  }
  const entry = createRequire(import.meta.url).resolve(PACKAGE);
  const root = dirname(dirname(entry));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const directory = join(cacheDirectory(), `chromium-${version}`);
  if (!existsSync(directory)) {
    await withLock('chromium', () => unpack(join(root, 'bin'), directory));
  }
  const env = environment();
  return {
    executablePath: join(directory, 'chromium'),
    args: ARGS,
    env: {
      ...env,
      // Behind the system's own, which fit the system better.
      LD_LIBRARY_PATH: [env['LD_LIBRARY_PATH'], join(directory, 'lib')].filter(Boolean).join(':'),
      FONTCONFIG_PATH: directory,
    },
  };
}

async function unpack(from: string, directory: string): Promise<void> {
  if (existsSync(directory)) {
    return; // The process that held the lock before has done it.
  }
  mkdirSync(dirname(directory), { recursive: true });
  // Left by a process that was killed while unpacking.
  removeOwnFolders(dirname(directory), (name) => name.startsWith(`${basename(directory)}-`));
  const unfinished = mkdtempSync(`${directory}-unfinished-`);
  await inflate(join(from, 'chromium.br'), join(unfinished, 'chromium'));
  for (const archive of ARCHIVES) {
    const tar = join(unfinished, 'archive.tar');
    await inflate(join(from, archive), tar);
    await promisify(execFile)('tar', ['-xf', tar, '-C', unfinished, '--no-same-owner']);
    rmSync(tar);
  }
  writeFileSync(join(unfinished, 'fonts.conf'), fontsConfiguration(directory));
  renameSync(unfinished, directory);
}

/** The package's own file points to another machine's folders: without fonts a page is laid out and not painted. */
function fontsConfiguration(directory: string): string {
  const folders = ['/usr/share/fonts', '/usr/local/share/fonts', join(directory, 'fonts')];
  const elements = folders.map((folder) => `  <dir>${folder}</dir>`).join('\n');
  return `<?xml version="1.0"?>\n<fontconfig>\n${elements}\n  <cachedir>${directory}/fonts-cache</cachedir>\n</fontconfig>\n`;
}

async function inflate(from: string, to: string): Promise<void> {
  await pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to, { mode: 0o755 }));
}

async function started(browser: Chromium): Promise<Chromium> {
  const why = await whyNotStarting(browser);
  if (why !== '') {
    throw new Error(
      `no browser starts here: ${browser.executablePath}: ${why}; install Chromium (Debian, Ubuntu: apt install chromium) or set CHROMIUM_PATH`,
    );
  }
  return browser;
}

/** The browser's words of complaint; empty when it starts. A missing shared library is what usually shows here. */
async function whyNotStarting(browser: Chromium): Promise<string> {
  try {
    await promisify(execFile)(browser.executablePath, ['--version'], { env: browser.env, timeout: 20_000 });
    return '';
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^Command failed: .*\n/, '').slice(0, 300) : String(error);
  }
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
