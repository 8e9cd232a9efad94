import { type GpuCounts, JobCreate, type StartVerdict } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { DomainError } from '@coxswain/domain-error';
import { checkOf, type CheckFacts } from './job-check.ts';

const body = JobCreate.parse({ name: 'llama', spec: aJobSpec() });
const gpus: GpuCounts = { total: 16, free: 8, types: [] };
const missing = {
  kind: 'PersistentVolumeClaim',
  name: 'corpse',
  field: 'spec.data.claimName',
  problem: 'missing',
} as const;
const facts = (more: Partial<CheckFacts> = {}): CheckFacts => ({
  ...{ body, namespace: 'lab', refusal: null, isNameTaken: false, denial: null, unusable: [], gpus },
  ...more,
});

describe('the check of a job that is not submitted', () => {
  it.each<[string, Partial<CheckFacts>, Partial<StartVerdict> | null]>([
    ['finds nothing in its way', {}, null],
    [
      'names the rule that its layout breaks',
      { refusal: new DomainError('INVALID_LAYOUT', 'tp 3 does not divide 4 heads') },
      { reason: 'LayoutInvalid', sentence: 'tp 3 does not divide 4 heads' },
    ],
    [
      'names what is wrong with its spec',
      { refusal: new DomainError('INVALID_REQUEST', 'engine "reference" needs data') },
      { reason: 'SpecInvalid', sentence: 'engine "reference" needs data' },
    ],
    [
      'says that its name is taken',
      { isNameTaken: true },
      { reason: 'NameTaken', change: 'Choose another name, or delete job llama.' },
    ],
    [
      'says what a policy says',
      { denial: `ValidatingAdmissionPolicy 'names' with binding 'names' denied request: no llamas` },
      { reason: 'PodsRefused', object: { kind: 'ValidatingAdmissionPolicy', name: 'names' } },
    ],
    [
      'names a claim that does not exist, in the words that the job itself would have',
      { unusable: [missing], gpus: { ...gpus, free: 0 } },
      {
        reason: 'ObjectMissing',
        sentence:
          'PersistentVolumeClaim corpse (spec.data.claimName) does not exist in namespace lab. The job starts once pods can use it.',
      },
    ],
    [
      'says how many GPUs are free and how many it wants',
      { gpus: { ...gpus, free: 2 } },
      { reason: 'WaitingForCapacity', sentence: 'Needs 4 GPUs; 2 of 16 GPUs are free.' },
    ],
    [
      'says that waiting does not help if the cluster has fewer GPUs than it wants',
      { gpus: { total: 2, free: 2, types: [] } },
      {
        sentence: 'Needs 4 GPUs; the cluster has 2 in all.',
        change: 'Ask for at most 2 GPUs, or ask the cluster administrator for nodes with GPUs.',
      },
    ],
  ])('%s', (_what, more, want) => {
    const { verdict } = checkOf(facts(more));
    if (want === null) expect(verdict).toBeNull();
    else expect(verdict).toMatchObject(want);
  });

  it('says what it could not ask, and what only the operator can', () => {
    const { checked, notChecked } = checkOf(facts({ denial: undefined, unusable: undefined, gpus: undefined }));
    expect(checked).toEqual(['spec', 'name']);
    expect(notChecked.map(({ what }) => what)).toEqual(['cluster', 'objects', 'gpus', 'pods']);
    expect(notChecked[0]?.why).toBe('it could not be read');
  });

  it('does not say that the cluster could not be read where it was not asked', () => {
    const { notChecked } = checkOf(facts({ isNameTaken: true, denial: undefined, unusable: undefined }));
    expect(notChecked.slice(0, 2)).toEqual([
      { what: 'cluster', why: 'it is checked once spec and name are accepted' },
      { what: 'objects', why: 'it is checked once spec and name are accepted' },
    ]);
  });
});
