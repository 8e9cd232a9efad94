import type { CheckpointLoads } from '@coxswain/api-types';
import { someContents } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { judgeLoads } from './resume-loads.ts';

const layout = aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 });
const four = aLayout({ dataParallelDegree: 4 });
const two = aLayout({ dataParallelDegree: 2 });
/** Where the job saves. */
const own = { jobName: 'a', jobUid: 'b'.repeat(36), epoch: 1, path: 'a-bbbbbbbb/epoch-1/global_step20' };
const saved = (format: string, optimizerSharding?: string): Parameters<typeof judgeLoads>[0] => ({
  spec: { ...own, format, layout, bytes: 1 },
  contents: optimizerSharding === undefined ? null : { ...someContents(), optimizerSharding },
});

describe('the answer whether a checkpoint loads', () => {
  it.each<[string, Parameters<typeof judgeLoads>, RegExp, Pick<CheckpointLoads, 'verdict' | 'isRefused'>]>([
    [
      'at the layout that saved it',
      [saved('torch_dcp'), layout],
      /^It was saved as torch_dcp/,
      { verdict: 'loads as is', isRefused: false },
    ],
    [
      'at another one',
      [saved('torch_dcp'), four],
      /^It was saved as torch_dcp .*\.$/,
      { verdict: 'engine reshards', isRefused: false },
    ],
    [
      'at one that its optimizer does not allow is that of the refusal',
      [saved('torch_dist', 'dp_reshardable'), four],
      /^It was saved as torch_dist .* before they change\.$/,
      { verdict: 'cannot', isRefused: true },
    ],
    [
      'of DeepSpeed at another number of ranks has the size and the time of its conversion',
      [{ spec: { ...own, format: 'deepspeed', layout: four, bytes: 3.5e9 } }, two],
      /go on with the layout that saved it, or convert it .* It needs conversion: 3\.3 GiB, about 9\.5 s\. A pod converts it before GPUs are held\.$/,
      { verdict: 'needs conversion', isRefused: false },
    ],
    [
      'of DeepSpeed beside files of a user is refused',
      [{ spec: { ...own, path: 'of-a-user/global_step20', format: 'deepspeed', layout: four, bytes: 3.5e9 } }, two],
      /or convert it and set layout\.checkpointPolicy\.format to deepspeed-universal\.$/,
      { verdict: 'needs conversion', isRefused: true },
    ],
    [
      'of DeepSpeed in a bucket is converted there, which takes longer',
      [
        {
          spec: {
            ...{ ...own, format: 'deepspeed', layout: four, bytes: 3.5e9 },
            bucket: { uri: 's3://training/runs', region: 'eu-central-1' },
          },
        },
        two,
      ],
      / It needs conversion: 3\.3 GiB, about 28\.6 s\. A pod converts it before GPUs are held\.$/,
      { verdict: 'needs conversion', isRefused: false },
    ],
  ])('%s', (_what, asked, message, want) => {
    expect(judgeLoads(...asked)).toMatchObject({ message: expect.stringMatching(message), ...want });
  });
});
