/** Published runs that the planner was once far off, each with what it says now. A change that moves one of these figures changes the page of scores. */
import { CALIBRATION } from '@coxswain/planner/calibration';
import { join } from 'node:path';
import { interpretRow } from '../rows/index.ts';
import { readMeasurements } from '../rows/measurement-files.ts';
import { runOf } from '../testing/invented-rows.ts';
import { plannerPredictor } from './predictor.ts';

const predictor = plannerPredictor(CALIBRATION);

describe('LLaMA-7B by DeepSpeed 0.14 on 8 A800', () => {
  const file = join(import.meta.dirname, '../../data/measurements_deepspeed_published_kept_apart.csv');
  const { rows } = readMeasurements([file]);

  /** Seconds measured and predicted of a row of the file, in its order. */
  function secondsOf(number: number): { readonly measuredS: number; readonly predictedS: number } {
    const row = rows[number - 1];
    const read = row === undefined ? { unpredicted: 'no such row' } : interpretRow(row);
    if (row?.iterTimeS === undefined || 'unpredicted' in read) throw new Error(`row ${number} is not predicted`);
    return { measuredS: row.iterTimeS, predictedS: predictor.stepTimeS(read.run) };
  }

  it.each([
    ['ZeRO-2 without offloading', 2, 15.3, 9.5],
    ['ZeRO-2 with the optimizer on the host', 3, 35.4, 20.1],
    ['ZeRO-3 without offloading', 6, 14.4, 12],
    ['ZeRO-3 with the optimizer on the host', 7, 31.2, 19.8],
    ['ZeRO-3 with weights on the host as well', 8, 31.1, 16.5],
  ])('%s', (_sentence, number, measuredS, predictedS) => {
    const seconds = secondsOf(number);
    expect(seconds.measuredS).toBeCloseTo(measuredS, 1);
    expect(seconds.predictedS).toBeCloseTo(predictedS, 1);
  });
});

describe('175B of MegaScale (arXiv 2402.15627, table 2) on 256 A100, ZeRO-2 under a pipeline', () => {
  const megascale = {
    layers: '96',
    hidden: '12288',
    heads: '128',
    kv_heads: '128',
    ffn_hidden: '49152',
    vocab: '64000',
    gpus: '256',
    tp: '8',
    pp: '8',
    vpp: '6',
    dp: '4',
    sp: '1',
    zero_stage: '2',
    recompute: 'none',
    precision: 'bf16',
    mbs: '1',
    gbs: '768',
  };

  it.each([
    ['MegaScale, 32.0 s measured', 'MegaScale (2024)', 36.7],
    ['Megatron-LM of before Megatron-FSDP, 40.0 s measured', 'Megatron-LM (2023)', 39.7],
    ['Megatron-FSDP, which reduces gradients after each of 192 micro-batches', 'Megatron-LM (2026)', 106.4],
  ])('%s', (_sentence, engine, predictedS) => {
    expect(predictor.stepTimeS(runOf({ ...megascale, engine }))).toBeCloseTo(predictedS, 0);
  });
});
