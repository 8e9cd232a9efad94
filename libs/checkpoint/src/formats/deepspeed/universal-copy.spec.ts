import { universalCopyOf } from './universal-copy.ts';

describe('what latest_universal names', () => {
  it.each<[what: string, text: string, copy: string | undefined]>([
    ['is the copy of the save, as the guide of DeepSpeed calls it', 'global_step2_universal', 'global_step2_universal'],
    ['is the copy of the save, with its path', '/ckpt/run/global_step2_universal\n', 'global_step2_universal'],
    ['is the copy of a save whose name only begins alike', 'global_step20_universal', undefined],
    ['is the copy of another save', 'global_step4_universal', undefined],
    ['is nothing', '', undefined],
  ])('%s', (_what, text, copy) => {
    expect(universalCopyOf('global_step2', text)).toBe(copy);
  });

  it('is no copy of a save without a name', () => {
    expect(universalCopyOf('', 'global_step2_universal')).toBeUndefined();
  });
});
