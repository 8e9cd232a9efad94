import type { CheckpointLoads } from '@coxswain/api-types';
import { someContents } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { judgeLoads } from './resume-loads.ts';

const layout = aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 });
const four = aLayout({ dataParallelDegree: 4 });
const saved = (format: string, optimizerSharding?: string): Parameters<typeof judgeLoads>[0] => ({
  spec: { jobName: 'a', format, layout, bytes: 1 },
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
  ])('%s', (_what, asked, message, want) => {
    expect(judgeLoads(...asked)).toMatchObject({ message: expect.stringMatching(message), ...want });
  });
});
