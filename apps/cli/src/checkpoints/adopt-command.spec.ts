import type { CheckpointRecord } from '@coxswain/api-types';
import { aCheckpointRecord, aVerification, someContents } from '@coxswain/api-types/testing';
import { adoptionText } from './adopt-command.ts';

const adopted = (more: Partial<CheckpointRecord>): CheckpointRecord => ({
  ...aCheckpointRecord({}),
  name: 'llama',
  claimName: 'old-runs',
  path: 'llama/step-7',
  verification: null,
  contents: null,
  ...more,
});
const contents = someContents({ step: 700, isResumable: true });

it.each<[what: string, more: Partial<CheckpointRecord>, want: RegExp]>([
  ['is not verified yet', {}, /llama\/step-7 on claim old-runs\. A pod verifies it before/],
  [
    'is sound',
    { verification: aVerification({ level: 'V2' }), contents },
    /It holds .* of step 700\. It is sound as far as V2 sees\.$/,
  ],
  [
    'has weights alone',
    { verification: aVerification({ level: 'V2' }), contents: { ...contents, isResumable: false } },
    /of step 700, weights alone\./,
  ],
  [
    'is damaged',
    { verification: aVerification({ verdict: 'damaged', findings: [{ kind: 'damaged', message: 'w has a hole.' }] }) },
    /It is damaged .* w has a hole\.$/,
  ],
])('says that an adopted checkpoint %s', (_what, more, want) => {
  expect(adoptionText(adopted(more))).toMatch(want);
});
