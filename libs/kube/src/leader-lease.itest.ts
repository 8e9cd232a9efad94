import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

import { waitFor } from '@coxswain/local-cluster';
import type { RecordedWrite } from '@coxswain/test-harness';

import { startWorld, type World } from './testing/world.ts';

let world: World;
const children: Candidate[] = [];

beforeAll(async () => {
  world = await startWorld();
});

afterEach(async () => {
  world.proxy.clearFaults();
  for (const candidate of children.splice(0)) candidate.process.kill('SIGKILL');
  world.proxy.clearRecords();
});

afterAll(() => world.stop());

interface Candidate {
  readonly identity: string;
  readonly process: ChildProcess;
  readonly printed: string[];
  readonly exited: Promise<number | null>;
}

function aCandidate(identity: string): Candidate {
  const script = join(import.meta.dirname, 'testing/lease-candidate.ts');
  const child = spawn(process.execPath, [script, world.kubeconfigPath, identity], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const printed: string[] = [];
  child.stdout
    .setEncoding('utf8')
    .on('data', (text: string) => printed.push(...text.split('\n').filter((line) => line !== '')));
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const candidate = { identity, process: child, printed, exited };
  children.push(candidate);
  return candidate;
}

const prints = (candidate: Candidate, text: string): Promise<unknown> =>
  waitFor(() => Promise.resolve(candidate.printed.some((line) => line.startsWith(text))), {
    what: `${candidate.identity} to say "${text}"`,
  });

const termOf = (candidate: Candidate): number =>
  Number(candidate.printed.find((line) => line.startsWith('leading'))?.split(' ')[1]);

/** The writes of the work, not of the lease, that took effect: term and writer in order. */
function effects(): readonly { readonly term: number; readonly identity: string; readonly sequence: number }[] {
  const isEffect = ({ verb, path, status }: RecordedWrite): boolean =>
    verb === 'apply' && path.includes('configmaps') && status < 300;
  return world.proxy.writes.filter(isEffect).map(({ body, sequence }) => {
    const { data } = JSON.parse(body) as { data: { term: string; identity: string } };
    return { term: Number(data.term), identity: data.identity, sequence };
  });
}

function expectTermsNeverFall(): void {
  const terms = effects().map(({ term }) => term);
  expect(terms).toEqual([...terms].sort((a, b) => a - b));
}

describe('C14: handing over a lease', () => {
  it('a leader that was stopped for longer than its lease writes nothing when it wakes, and exits', async () => {
    const first = aCandidate('first');
    await prints(first, 'leading');
    const second = aCandidate('second');
    await waitFor(() => Promise.resolve(effects().length > 3), { what: 'writes of the first' });
    first.process.kill('SIGSTOP');
    await prints(second, 'leading');
    const before = world.proxy.writes.length;
    await waitFor(() => Promise.resolve(world.proxy.writes.length > before + 3), { what: 'writes' });
    first.process.kill('SIGCONT');
    expect(await first.exited).toBe(1);
    expect(first.printed).toContain('ended lost');
    expect(termOf(second)).toBe(termOf(first) + 1);
    const writers = effects().map(({ identity }) => identity);
    expect(writers.lastIndexOf('first')).toBeLessThan(writers.indexOf('second'));
    expectTermsNeverFall();
  });

  it('a leader whose renewals alone are refused stops before the other starts', async () => {
    const first = aCandidate('cut-off');
    await prints(first, 'leading');
    const second = aCandidate('heir');
    world.proxy.add({
      match: { path: /leases/, where: ({ userAgent, method }) => userAgent === 'cut-off' && method !== 'GET' },
      action: { kind: 'hang' },
    });
    expect(await first.exited).toBe(1);
    expect(second.printed.some((line) => line.startsWith('leading'))).toBe(false);
    await prints(second, 'leading');
    expectTermsNeverFall();
  });

  it('a leader whose renewals are carried out but never answered keeps its lease', async () => {
    const only = aCandidate('deaf');
    await prints(only, 'leading');
    const lost = world.proxy.add({
      match: { path: /leases/, verbs: ['patch'] },
      action: { kind: 'loseAnswer', how: 'reset' },
    });
    await waitFor(() => Promise.resolve(lost.hits >= 12), { what: 'lost answers' });
    expect(only.printed.filter((line) => line.startsWith('ended'))).toEqual([]);
    world.proxy.clearFaults();
    only.process.kill('SIGTERM');
    expect(await only.exited).toBe(0);
  });

  it('a leader that is asked to stop releases its lease, so that the next leads at once', async () => {
    const first = aCandidate('polite');
    await prints(first, 'leading');
    const second = aCandidate('waiting');
    await waitFor(() => Promise.resolve(world.proxy.requests.some(({ userAgent }) => userAgent === 'waiting')), {
      what: 'the second to ask',
    });
    first.process.kill('SIGTERM');
    expect(await first.exited).toBe(0);
    await prints(second, 'leading');
    const ofLease = world.proxy.requests.filter(({ path }) => path.includes('leases'));
    const released = ofLease.findLastIndex(({ userAgent, method }) => userAgent === 'polite' && method !== 'GET');
    const waits = ofLease.slice(released + 1).filter(({ userAgent }) => userAgent === 'waiting');
    // One read that was under way, and the one that finds the lease free. A lease that is not released takes fifteen until it has expired.
    expect([1, 2]).toContain(waits.findIndex(({ method }) => method !== 'GET'));
    expectTermsNeverFall();
  });
});
