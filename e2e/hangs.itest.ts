import { findRank, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { brokenInvariants } from './support/audit.ts';
import { gptSpec } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

const deadlineMs = 300_000;
/** A rank that stands still is named so soon, and its gang goes on elsewhere so soon after that. */
const NAMED_WITHIN_MS = 60_000;

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await sharedSystem();
  project = await createProject(system, 'hangs');
});

afterAll(async () => {
  await releaseSharedSystem();
});

/** Notes of the Events that detectors caused. */
async function healthEvent(): Promise<string | undefined> {
  const path = '{.items[?(@.reason=="IncidentNoticed")].message}';
  return (await system.plane.kubectl(['-n', project.name, 'get', 'events', '-o', `jsonpath=${path}`])) || undefined;
}

describe('a rank that is stopped and says nothing', () => {
  it('is named with its node as stopped, and the job goes on from its checkpoint, uncharged, without blame for the node', async () => {
    const { model, training } = gptSpec();
    if (model === undefined || training === undefined) throw new Error('the job has no model');
    const steps = { model: { ...model, sequenceLength: 128 }, training: { ...training, steps: 600 } };
    const job = await submit(project, 'stopped', gptSpec(steps));
    const running = await jobIn(project, job.id, ['Running'], { deadlineMs, and: (seen) => seen.checkpoint !== null });
    const stopped = await findRank(system, { namespace: project.name, jobUid: running.uid ?? '', rank: 3 });
    const at = { project: project.name, id: job.id };
    const before = await project.api.stacks(at);
    console.info(
      `before: ${before.groups.map(({ ranks, thread, frames }) => `${ranks} ${thread}: ${frames[0]}`).join('; ')}`,
    );
    expect(before).toMatchObject({ epoch: 1, rankCount: 4, silent: [], leftOut: '' });
    const firsts = before.groups.filter(({ isMain }) => isMain);
    expect(firsts.reduce((sum, { rankCount }) => sum + rankCount, 0)).toBe(4);
    expect(firsts.every(({ frames }) => frames.some((frame) => /^Trainer\.|^train/.test(frame)))).toBe(true);
    process.kill(stopped.pid, 'SIGSTOP');
    const stoppedAtMs = performance.now();
    const event = await waitFor(healthEvent, { what: 'the rank to be named', deadlineMs: NAMED_WITHIN_MS });
    const namedAfterMs = performance.now() - stoppedAtMs;
    const failed = await jobIn(project, job.id, ['Running', 'Restarting', 'Starting', 'Queued'], {
      deadlineMs,
      and: ({ attempts }) => attempts[0]?.outcome === 'Failed',
    });
    console.info(
      `named after ${Math.round(namedAfterMs / 1000)} s, ended after ${Math.round((performance.now() - stoppedAtMs) / 1000)} s: ${event}`,
    );
    expect(event).toMatch(/^The process of rank 3 on node local-\S+ is stopped \(state T\), .* the other ranks wait; /);
    expect(failed.attempts[0]).toMatchObject({ reason: 'Condemned', charged: false });
    const again = await jobIn(project, job.id, ['Running'], { deadlineMs, and: ({ epoch }) => epoch === 2 });
    expect(again.attempts[1]?.resumedFrom?.step).toBeGreaterThanOrEqual(10);
    const [incident, ...others] = await waitFor(
      async () => {
        const { items } = await project.api.incidents(at);
        return items[0]?.outcome === undefined ? undefined : items;
      },
      { what: 'the incident to be over', deadlineMs },
    );
    console.info(`lost ${Math.round((incident?.lostMs ?? 0) / 1000)} s; ${incident?.redoneSteps} steps again`);
    expect(others).toEqual([]);
    expect(incident).toMatchObject({ kind: 'Hang', rank: 3, action: 'RestartedInNewPods', outcome: 'Recovered' });
    expect(incident?.node).toMatch(/^local-/);
    expect(incident?.operations?.length).toBeGreaterThan(0);
    const stacks = incident?.evidence?.filter(({ name }) => name.startsWith('stack of ')) ?? [];
    console.info(stacks.map(({ name, value }) => `${name}: ${value}`).join('\n'));
    expect(stacks[0]).toEqual({ name: 'stack of rank 3', value: 'none: its process is stopped by a signal (state T)' });
    expect(stacks.length).toBeGreaterThan(1);
    await project.api.cancel({ project: project.name, id: job.id });
    await jobIn(project, job.id, ['Cancelled'], { deadlineMs });
    expect(await brokenInvariants(system, project.name)).toEqual([]);
  });
});
