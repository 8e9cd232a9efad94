import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { flipIn } from '../testing/damages.ts';
import { fixture } from '../testing/fixture.ts';
import type { MemorySave } from '../testing/memory-save.ts';
import { verifySave } from '../verify/verify-save.ts';
import {
  converterArguments,
  converterLimitMs,
  converterResources,
  converterWorkers,
  describeBadConversion,
  describeUnconvertible,
  type SaveToConvert,
} from './universal-conversion.ts';

function known(save: MemorySave): SaveToConvert {
  const files = save.list();
  return { files, look: save.run(verifySave(files, { level: 'V3', crc32, sha256: () => createHash('sha256') })) };
}

const of = (name: string): SaveToConvert => known(fixture(name));
const ZERO1 = 'deepspeed-0.19.8/zero1/global_step2';

/** The save as if it were of two tensor-parallel ranks, with these objects beside its tensors. */
function divided(...keys: readonly string[]): SaveToConvert {
  const { files, look } = of(ZERO1);
  if (look.state?.facts === undefined) throw new Error('the fixture has no facts');
  const item = { file: 'mp_rank_00_model_states.pt', offset: 0, length: 1 };
  const facts = { ...look.state.facts, degrees: { tensorParallelDegree: 2 } };
  const objects = keys.map((key) => ({ key, item }));
  return { files, look: { ...look, state: { ...look.state, objects, facts } } };
}

describe('the converter of DeepSpeed', () => {
  it.each<[string, () => SaveToConvert, RegExp | undefined]>([
    ['takes a save of ZeRO-1', () => of(ZERO1), undefined],
    ['takes a save of ZeRO-3', () => of('deepspeed-0.19.8/zero3/global_step2'), undefined],
    [
      'leaves out experts',
      () => of('deepspeed-0.19.8/experts/global_step2'),
      /^It has experts of deepspeed\.moe, which the converter leaves out\./,
    ],
    [
      'needs one save',
      () => of('deepspeed-0.19.8/zero1'),
      /^It is no single save of DeepSpeed \(format deepspeed\)\. Name the directory of one save, such as global_step1000\.$/,
    ],
    ['needs a save of DeepSpeed', () => of('dcp-2.15.0'), /^It is no single save of DeepSpeed \(format dcp\)\./],
    [
      'joins tensor-parallel parts wrong that do not say how',
      () => divided(),
      /^It is divided by tensor parallelism, and its model states hold no universal_checkpoint_info/,
    ],
    [
      'takes tensor-parallel parts that say how they are joined',
      () => divided('mp_rank_01.universal_checkpoint_info'),
      undefined,
    ],
    [
      'needs the states of all ranks',
      () => {
        const save = fixture(ZERO1);
        save.files.delete('bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt');
        return known(save);
      },
      /^It is incomplete: File bf16_zero_pp_rank_1_mp_rank_00_optim_states\.pt is not there.* Use another save\.$/,
    ],
    [
      'is not run on bytes that rotted',
      () => {
        const save = fixture(ZERO1);
        const [state] = known(save).look.state?.tensors.filter(({ kind }) => kind === 'moment') ?? [];
        flipIn(save, state?.key ?? '');
        return known(save);
      },
      /^It is damaged: .*bf16_zero_pp_rank_\d_mp_rank_00_optim_states\.pt/,
    ],
    [
      'needs the optimizer states of ZeRO',
      () => {
        const { files, look } = of(ZERO1);
        return { look, files: files.filter(({ path }) => !path.includes('optim_states')) };
      },
      /^It was saved without ZeRO/,
    ],
  ])('%s', (_what, save, refusal) => {
    if (refusal === undefined) expect(describeUnconvertible(save())).toBeUndefined();
    else expect(describeUnconvertible(save())).toMatch(refusal);
  });

  it('gets the state that scripts do not write, unless parts are joined by it', () => {
    const workers = { extract: 3, merge: 1 };
    expect(converterArguments(of(ZERO1), workers).join(' ')).toBe(
      '--num_extract_workers 3 --num_merge_workers 1 --inject_missing_state',
    );
    expect(converterArguments(divided('universal_checkpoint_info'), workers)).not.toContain('--inject_missing_state');
  });

  it.each([
    ['one process of each where no limit is known', undefined, 8, { extract: 1, merge: 1 }],
    ['one process of each where memory is short', 600 << 20, 8, { extract: 1, merge: 1 }],
    ['so many as fit', 3.2 * 2 ** 30, 8, { extract: 3, merge: 1 }],
    ['no more than processors', 64 * 2 ** 30, 2, { extract: 2, merge: 1 }],
    ['no more than four', 64 * 2 ** 30, 64, { extract: 4, merge: 2 }],
  ])('has %s', (_what, roomBytes, cpus, workers) => {
    const files = [{ path: 'zero_pp_rank_0_mp_rank_00_optim_states.pt', bytes: 200 << 20 }];
    expect(converterWorkers({ files }, { roomBytes, cpus })).toEqual(workers);
  });

  it.each<[what: string, bytes: number, ranks: number, cpus: number]>([
    ['a small save', 1, 8, 1],
    ['what one process does in three minutes', 64, 8, 1],
    ['more', 65, 8, 2],
    ['a save of two ranks, whose files two processes read', 1_000, 2, 2],
    ['a large save', 1_000, 512, 4],
  ])('has processes and memory for %s', (_what, gib, ranks, cpus) => {
    const resources = converterResources({ bytes: gib * 2 ** 30, ranks });
    expect(resources.cpus).toBe(cpus);
    // What the launcher starts in this memory, if each rank has one file of equal size.
    const files = [{ path: 'zero_pp_rank_0_mp_rank_00_optim_states.pt', bytes: (gib * 2 ** 30) / ranks }];
    expect(converterWorkers({ files }, { roomBytes: resources.memoryBytes, cpus }).extract).toBe(cpus);
  });

  it('has more time for more bytes', () => {
    expect([converterLimitMs(0), converterLimitMs(3600 * 10 * 2 ** 20)]).toEqual([900_000, 900_000 + 3_600_000]);
  });

  it.each<[string, () => SaveToConvert, RegExp | undefined]>([
    ['is right', () => of(`${ZERO1}_universal`), undefined],
    ['is the save itself', () => of(ZERO1), /^The result is no universal save \(format deepspeed\)\.$/],
    [
      'lacks a moment',
      () => {
        const save = fixture(`${ZERO1}_universal`);
        save.files.delete('zero/first.bias/exp_avg.pt');
        return known(save);
      },
      /^File zero\/first\.bias\/exp_avg\.pt is not there/,
    ],
  ])('made a result that %s', (_what, made, problem) => {
    const found = describeBadConversion(made().look, of(ZERO1).look);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  it('made a result of another step', () => {
    const { look } = of(ZERO1);
    const facts = { ...look.state?.facts, step: 7, holds: look.state?.facts?.holds ?? ({} as never) };
    const other = { ...look, state: { tensors: [], objects: [], facts } };
    expect(describeBadConversion(of(`${ZERO1}_universal`).look, other)).toBe(
      'The result is of step 2, and the save of step 7.',
    );
  });
});
