import { flatSettings, importConfiguration } from './config-file.ts';
import { importedEngine } from './imported-engine.ts';
import type { ReportLine } from './import-report.ts';

const TODO = /^for predictions, set training\.packing\.meanTokens/;

function ofFile(file: object): readonly ReportLine[] {
  const job = importConfiguration(flatSettings(file), { image: 'x', gpusPerNode: 8, nodes: 1, file: 'a.yaml' });
  return job?.report ?? [];
}

function ofWords(line: string): readonly ReportLine[] {
  return importedEngine({ words: line.split(' '), variables: [], ranks: 8, from: 'the program' }).lines;
}

describe('a program that packs documents has a line', () => {
  it.each<[string, readonly ReportLine[], string, RegExp | undefined]>([
    ['axolotl', ofFile({ base_model: 'a', sample_packing: true }), 'sample_packing: true', TODO],
    [
      'LLM Foundry',
      ofFile({ train_loader: { dataset: { packing_ratio: 'auto' } }, global_train_batch_size: 8 }),
      'train_loader.dataset.packing_ratio: auto',
      TODO,
    ],
    [
      'NeMo',
      ofFile({ trainer: { devices: 8 }, model: { data: { train_ds: { packed_sequence_size: 4096 } } } }),
      'model.data.train_ds.packed_sequence_size: 4096',
      TODO,
    ],
    ['TRL', ofWords('python3 sft.py --packing --max_length 4096'), '--packing', TODO],
    [
      'Megatron-Bridge',
      ofWords('python3 run.py dataset.packed_sequence_specs.packed_sequence_size=4096'),
      'dataset.packed_sequence_specs.packed_sequence_size=4096',
      TODO,
    ],
    [
      'Megatron-LM, whose kernels ignore the mask',
      ofWords('python3 pretrain_gpt.py --reset-position-ids --reset-attention-mask --eod-mask-loss'),
      '--reset-attention-mask',
      undefined,
    ],
  ])('%s', (_what, report, written, todo) => {
    const lines = report.filter(({ why }) => /attention is priced over whole samples/.test(why ?? ''));
    expect(lines.map(({ from }) => from)).toEqual([written]);
    if (todo === undefined) expect(lines[0]).not.toHaveProperty('todo');
    else expect(lines[0]?.todo).toMatch(todo);
  });
});

it.each([
  ['axolotl', ofFile({ base_model: 'a', sample_packing: false })],
  ['NeMo', ofFile({ trainer: { devices: 8 }, data: { packed_sequence_size: -1 } })],
  ['LLM Foundry', ofFile({ train_loader: { packing_ratio: 1.0 }, max_duration: '1ep', global_train_batch_size: 8 })],
  ['TRL', ofWords('python3 sft.py --packing false')],
])('%s has no line if packing is off', (_what, report) => {
  expect(report.filter(({ why }) => /priced over whole samples/.test(why ?? ''))).toEqual([]);
});
