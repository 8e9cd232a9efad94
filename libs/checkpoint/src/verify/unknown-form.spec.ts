import { crc32 } from 'node:zlib';
import { fixture, repickled } from '../testing/fixture.ts';
import { verifySave } from './verify-save.ts';

/** Protocol 6, which no reader here knows: its opcodes may be others. */
function ofNewerProtocol(pickle: string): string {
  return pickle.replace(/^\x80[\x02-\x05]/s, '\x80\x06');
}

describe('a file whose pickle is of a newer protocol', () => {
  const deepspeed = 'deepspeed-0.19.8';
  it.each([
    [`${deepspeed}/zero1/global_step2`, 'mp_rank_00_model_states.pt'],
    [`${deepspeed}/zero1/global_step2`, 'bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt'],
    [`${deepspeed}/zero3/global_step2_universal`, 'zero/first.bias/exp_avg.pt'],
    [`${deepspeed}/zero3/global_step2_universal`, 'zero_pp_rank_1_mp_rank_00_model_states.pt'],
    ['hugging-face-5.23.0/checkpoint-2', 'optimizer.pt'],
    ['megatron-core-0.16.1/fully_reshardable', 'common.pt'],
  ])('shows no damage of %s: %s', (path, file) => {
    const save = fixture(path);
    expect(save.files.has(file)).toBe(true);
    save.edit(file, (bytes) => repickled(bytes, ofNewerProtocol));
    const found = save.run(verifySave(save.list(), { level: 'V3', crc32 }));
    expect(found.findings).toContainEqual({
      level: 'V1',
      kind: 'unverifiable',
      sentence: expect.stringMatching(/protocol 6; protocols 0 to 5 are read/) as string,
    });
    expect(found.verdict).toBe('unverifiable');
  });
});
