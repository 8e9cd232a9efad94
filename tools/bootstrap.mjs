/**
 * Runs a TypeScript program of this repository on the Node that the repository pins, with the packages that it locks.
 *
 *     node tools/bootstrap.mjs tools/quickstart/main.ts [arguments]
 *
 * It is the first thing a newcomer runs, so it depends on nothing: plain JavaScript for any Node since 20.19.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MODULES = join(ROOT, 'node_modules');
const LOCK_FILE = join(ROOT, 'package-lock.json');
const STAMP = join(MODULES, '.coxswain-lock-hash');
const PINNED_NODE = join(MODULES, `node-linux-${process.arch}`, 'bin', 'node');
const NODE_SUMS_FILE = join(ROOT, 'tools', 'node-binaries.json');
const LOWEST_NODE = [20, 19];
const PROGRESS_MS = 20_000;

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

async function main([script, ...args]) {
  const refusal = whyNotHere();
  if (refusal !== undefined) {
    throw new Error(refusal);
  }
  if (script === undefined) {
    throw new Error('name the program to run: node tools/bootstrap.mjs <script.ts> [arguments]');
  }
  await installPackages();
  process.exitCode = await runPinned(script, args);
}

/** One sentence on why this machine cannot run Coxswain's tools, or undefined when it can. */
function whyNotHere() {
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) {
    return `this is ${process.platform} on ${process.arch}; Coxswain's local cluster runs on Linux x86-64 or arm64 only (a virtual machine will do)`;
  }
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < LOWEST_NODE[0] || (major === LOWEST_NODE[0] && minor < LOWEST_NODE[1])) {
    return `this is Node ${process.versions.node}; install Node ${LOWEST_NODE.join('.')} or later (any newer one will do: the rest runs on a Node of its own)`;
  }
  process.report.excludeNetwork = true; // Naming the addresses of this machine can take seconds.
  if (process.report.getReport().header.glibcVersionRuntime === undefined) {
    return 'this Linux has no glibc (Alpine, perhaps); use one that has, such as Debian, Ubuntu or Fedora';
  }
  return undefined;
}

/** Makes node_modules match package-lock.json. Nothing happens when it does already. */
async function installPackages() {
  if (packagesMatch()) {
    return;
  }
  const release = await lock(`npm-${hash(ROOT).slice(0, 16)}`, (owner) =>
    say(`another process (${owner}) is installing the packages; waiting for it`),
  );
  try {
    if (!packagesMatch()) {
      await npmCi();
    }
  } finally {
    release();
  }
}

async function npmCi() {
  say('installing the packages of package-lock.json (npm ci; about a minute with a fast connection)');
  const started = Date.now();
  const elapsed = () => `${Math.round((Date.now() - started) / 1000)} s`;
  const timer = setInterval(() => say(`still installing, ${elapsed()}`), PROGRESS_MS);
  // Under `npm run`, the same npm; it is not always on PATH.
  const npm = process.env.npm_execpath?.endsWith('.js') ? [process.execPath, process.env.npm_execpath] : ['npm'];
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const code = await run([...npm, ...args], { cwd: ROOT, env: process.env }).finally(() => clearInterval(timer));
  if (code !== 0) {
    throw new Error(`npm ci failed with exit code ${code}; its own messages are above`);
  }
  const wrong = whyNotTheNode();
  if (wrong !== undefined) {
    throw new Error(`${wrong}; nothing was run with it`);
  }
  writeFileSync(STAMP, lockHash());
  say(`packages installed in ${elapsed()}`);
}

/**
 * What is wrong with the Node of the packages, or undefined when its bytes are those that this repository names. npm leaves out
 * an optional package without a message if it cannot be downloaded or its bytes are not those of the lock.
 */
function whyNotTheNode() {
  const { version, sha256 } = JSON.parse(readFileSync(NODE_SUMS_FILE, 'utf8'));
  const name = `node-linux-${process.arch}`;
  if (!existsSync(PINNED_NODE)) {
    return `npm left out the package ${name}@${version}: its registry does not have it, or sent other bytes than package-lock.json names; run "npm install --no-save ${name}@${version}" to see which`;
  }
  const got = hash(readFileSync(PINNED_NODE));
  return got === sha256[process.arch]
    ? undefined
    : `${PINNED_NODE} has SHA-256 ${got}, but tools/node-binaries.json names ${sha256[process.arch]} for Node ${version}`;
}

/** True when the stamp says so, or when npm's own record of what it installed agrees with the lock, entry by entry. */
function packagesMatch() {
  if (!existsSync(PINNED_NODE)) {
    return false;
  }
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lockHash()) {
    return true;
  }
  const record = join(MODULES, '.package-lock.json');
  if (!existsSync(record) || !recordAgrees(readPackages(LOCK_FILE), readPackages(record))) {
    return false;
  }
  if (whyNotTheNode() !== undefined) {
    return false;
  }
  try {
    writeFileSync(STAMP, lockHash());
  } catch {
    // The checkout belongs to another user. The next start compares the packages again.
  }
  return true;
}

function recordAgrees(wanted, installed) {
  const installedHere = (path) => path.includes('node_modules/');
  const missing = Object.entries(wanted).some(([path, { version, optional }]) => {
    const found = installed[path];
    return installedHere(path) && (found === undefined ? optional !== true : found.version !== version);
  });
  return !missing && Object.keys(installed).every((path) => !installedHere(path) || path in wanted);
}

function readPackages(path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages;
}

function lockHash() {
  return hash(Buffer.concat([readFileSync(LOCK_FILE), readFileSync(NODE_SUMS_FILE)]));
}

function hash(content) {
  return createHash('sha256').update(content).digest('hex');
}

/** Runs `script` on the pinned Node in place of this process: same terminal, same signals, same exit code. */
function runPinned(script, args) {
  const env = {
    ...process.env,
    PATH: [dirname(PINNED_NODE), join(MODULES, '.bin'), process.env.PATH].join(delimiter),
  };
  const watch = pathToFileURL(join(ROOT, 'tools', 'end-with-parent.mjs')).href;
  return run([PINNED_NODE, '--import', watch, script, ...args], { env, lifeline: true });
}

/** Resolves with the exit code; a child ended by a signal gives 128 plus its number, as in a shell. */
function run([command, ...args], { cwd, env, lifeline = false }) {
  return new Promise((resolve, reject) => {
    const stdio = ['inherit', 'inherit', 'inherit', ...(lifeline ? ['pipe'] : [])];
    const child = spawn(command, args, { cwd, env, stdio });
    const forward = (signal) => {
      // From a terminal, Ctrl-C reaches the child by itself; a second one would mean "at once".
      if (signal !== 'SIGINT' || !inForeground()) {
        child.kill(signal);
      }
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    signals.forEach((signal) => process.on(signal, forward));
    child.on('error', (error) => reject(new Error(`${command} does not start: ${error.message}`)));
    child.on('exit', (code, signal) => {
      signals.forEach((name) => process.off(name, forward));
      child.stdio[3]?.destroy();
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/** Whether a terminal sends its Ctrl-C to this process's group. Fields 5 and 8 of proc_pid_stat(5). */
function inForeground() {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return fields[2] === fields[5];
}

/**
 * Takes the lock `name` of this machine; the kernel gives it back when this process ends, however it ends.
 * Resolves with the function that releases it.
 */
async function lock(name, onWait) {
  const path = `\0coxswain-${process.getuid()}-${name}`; // An abstract socket: no file to be left behind.
  for (let hasReported = false; ; hasReported = true) {
    const server = createServer((visitor) => visitor.on('error', () => undefined).write(`${process.pid}`));
    const taken = await new Promise((resolve, reject) => {
      server.once('listening', () => resolve(true));
      server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
      server.listen({ path });
    });
    if (taken) {
      const visitors = new Set();
      server.on('connection', (visitor) => visitors.add(visitor));
      return () => {
        server.close();
        visitors.forEach((visitor) => visitor.destroy());
      };
    }
    await new Promise((resolve) => {
      const visit = connect({ path });
      visit.on('data', (pid) => !hasReported && onWait(`process ${pid}`));
      visit.on('error', resolve); // It has just been released.
      visit.on('close', resolve);
    });
  }
}

function say(text) {
  console.error(`bootstrap: ${text}`);
}
