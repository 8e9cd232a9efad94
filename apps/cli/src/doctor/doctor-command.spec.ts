import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';
import { doctorFindings, type DoctorObjects } from './doctor-findings.ts';

type Item = { readonly kind: string; readonly metadata: object };

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-doctor-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const object = (kind: string, name: string, rest: object = {}, namespace?: string): Item => ({
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  ...rest,
});
const aClass = (name: string, value: number, preemptionPolicy = 'PreemptLowerPriority'): Item =>
  object('PriorityClass', name, { value, preemptionPolicy });
const aJob = (name: string, spec: object, status: object = { state: 'Queued' }): Item =>
  object('TrainingJob', name, { spec, status }, 'research');
const aQuota = (limit: string, used: string, more: object = {}): Item =>
  object(
    'ResourceQuota',
    'gpus',
    {
      spec: { hard: { 'requests.nvidia.com/gpu': limit }, ...more },
      status: { used: { 'requests.nvidia.com/gpu': used } },
    },
    'research',
  );
const FABRIC = object('Fabric', 'cluster', { status: { problems: [] } });
const POLICY = object('ValidatingAdmissionPolicy', 'coxswain-priority-classes');
const BINDING = object('ValidatingAdmissionPolicyBinding', 'any-name', {
  spec: { policyName: 'coxswain-priority-classes' },
});
const SOUND = [FABRIC, POLICY, BINDING];
const URGENT = aJob('big', { gpus: 8, priorityClassName: 'urgent' });

async function doctor(items: unknown, ...more: readonly string[]): Promise<OfflineOutcome> {
  const path = join(directory, 'objects.json');
  writeFileSync(path, JSON.stringify(items));
  return runOffline({}, 'doctor', '--objects', path, ...more);
}

describe('the doctor', () => {
  it.each<[string, readonly Item[], string]>([
    [
      'names the class that jobs name and that does not exist',
      [...SOUND, URGENT, aJob('other', { priorityClassName: 'urgent' })],
      '! PriorityClass urgent does not exist, and 2 unfinished jobs name it. New jobs with it wait with reason PriorityClassMissing.',
    ],
    [
      'names the class for pods that does not exist',
      [...SOUND, URGENT, aClass('urgent', 1000)],
      '! PriorityClass urgent-never-preempts does not exist, so pods of jobs with class urgent carry no class of their priority. Create it with value 1000 and preemptionPolicy Never',
    ],
    [
      'names a class for pods with another value, although no job names the class now',
      [...SOUND, aClass('urgent', 1000), aClass('urgent-never-preempts', 900, 'Never')],
      '! PriorityClass urgent-never-preempts has value 900 instead of 1000',
    ],
    [
      'names a class for pods that preempts',
      [...SOUND, aClass('urgent', 1000), aClass('urgent-never-preempts', 1000)],
      '! PriorityClass urgent-never-preempts preempts other pods',
    ],
    [
      'reports a policy that is not there',
      [FABRIC],
      '! ValidatingAdmissionPolicy coxswain-priority-classes does not exist, so every user of kubectl',
    ],
    [
      'reports a policy that is not in force',
      [FABRIC, POLICY],
      '! No binding puts ValidatingAdmissionPolicy coxswain-priority-classes in force',
    ],
    ['reports an operator that has never led', [POLICY, BINDING], '! Fabric cluster does not exist. The operator'],
    [
      'shows problems of the Fabric, such as windows that select no node',
      [POLICY, BINDING, object('Fabric', 'cluster', { status: { problems: [{ message: 'spec.windows: no node.' }] } })],
      '! Fabric: spec.windows: no node.',
    ],
    [
      'names a job that a quota never lets start',
      [...SOUND, aQuota('4', '0'), aJob('big', { gpus: 8 })],
      '! ResourceQuota gpus of namespace research allows 4 GPUs; job big asks for 8 and can never start there.',
    ],
    [
      'names a quota that was lowered below what runs',
      [...SOUND, aQuota('4', '8'), aJob('runs', { gpus: 8 }, { state: 'Running' })],
      '! ResourceQuota gpus of namespace research allows 4 GPUs, and pods hold 8. They continue;',
    ],
    [
      'names a quota with scopes, which is not read before a job is placed',
      [...SOUND, aQuota('64', '0', { scopes: ['NotTerminating'] }), aJob('big', { gpus: 8 })],
      '! ResourceQuota gpus of namespace research has scopes',
    ],
  ])('%s', async (_sentence, items, want) => {
    const { code, out } = await doctor({ kind: 'List', items });
    expect(out).toContain(want);
    expect([code, out.split('\n').filter((line) => line.startsWith('! ')).length]).toEqual([1, 1]);
  });

  it.each<[string, readonly Item[]]>([
    ['that needs nothing', SOUND],
    ['whose class is complete', [...SOUND, URGENT, aClass('urgent', 9), aClass('urgent-never-preempts', 9, 'Never')]],
    ['whose class never preempts itself', [...SOUND, URGENT, aClass('urgent', 9, 'Never')]],
    ['with classes of others, which no job names', [...SOUND, aClass('theirs', 5)]],
    [
      'whose class is missing for ended jobs only',
      [...SOUND, aJob('old', { priorityClassName: 'x' }, { state: 'Complete' })],
    ],
    ['whose quota has room, or is of a namespace without jobs', [...SOUND, aQuota('4', '8')]],
  ])('finds nothing in a cluster %s', async (_sentence, items) => {
    const { code, out } = await doctor({ kind: 'List', items });
    expect([code, out.split('.')[0]]).toEqual([0, 'Nothing is missing']);
  });

  it('prints its findings as JSON', async () => {
    const { out } = await doctor({ kind: 'List', items: [FABRIC] }, '--output', 'json');
    expect(JSON.parse(out)).toMatchObject({ findings: [{ kind: 'PolicyMissing' }] });
  });

  it.each([
    ['a file that is no List', { kind: 'Pod' }, 'is no List of objects'],
    ['an object without a name', { items: [{ kind: 'Fabric' }] }, 'items[0] has no metadata.name'],
  ])('refuses %s', async (_sentence, document, want) => {
    const { code, err } = await doctor(document);
    expect([code, err]).toEqual([1, expect.stringContaining(want)]);
  });

  const none: DoctorObjects = {
    ...{ TrainingJob: [], Fabric: [], PriorityClass: [], ResourceQuota: [] },
    ...{ ValidatingAdmissionPolicy: [], ValidatingAdmissionPolicyBinding: [] },
  };
  it('says only that Coxswain is not installed if the cluster serves no TrainingJobs', () => {
    expect(doctorFindings({ ...none, TrainingJob: 'unserved' }).map(({ kind }) => kind)).toEqual(['NotInstalled']);
  });

  it('names what it may not read, and does not call that missing', () => {
    const why = 'forbidden';
    expect(doctorFindings({ ...none, Fabric: why, ValidatingAdmissionPolicy: why })).toEqual([
      expect.objectContaining({ kind: 'NotRead', message: expect.stringMatching(/^Fabric objects .* forbidden$/) }),
      expect.objectContaining({
        kind: 'NotRead',
        message: expect.stringMatching(/^ValidatingAdmissionPolicy objects /),
      }),
    ]);
  });
});
