import { crc32 } from 'node:zlib';
import { MemorySave } from '../testing/memory-save.ts';
import { torchArchive } from '../testing/torch-archive.ts';
import { type SaveLook, verifySave } from './verify-save.ts';

const STEP_7 = torchArchive('\x80\x02}X\x09\0\0\0iterationK\x07s.');
const STEP_8 = torchArchive('\x80\x02}X\x09\0\0\0iterationK\x08s.');

function look(files: Readonly<Record<string, Uint8Array>>): SaveLook {
  const save = new MemorySave(files);
  return save.run(verifySave(save.list(), { level: 'V3', crc32 }));
}

const named = (...paths: readonly string[]): Readonly<Record<string, Uint8Array>> =>
  Object.fromEntries(paths.map((path) => [path, new Uint8Array(1)]));

describe('a save that is recognised', () => {
  it.each<
    [
      what: string,
      files: Readonly<Record<string, Uint8Array>>,
      found: [format: string, verdict: SaveLook['verdict']],
      sentence: RegExp,
    ]
  >([
    [
      'of torch_checkpointing',
      named('metadata.pkl', 'model_0.pt', 'model_1.pt'),
      ['torch_checkpointing', 'unverifiable'],
      /is of torch_checkpointing: it is described by the names/,
    ],
    [
      'of torch_checkpointing with a rank that wrote nothing',
      named('metadata.pkl', 'model_0.pt', 'model_2.pt'),
      ['torch_checkpointing', 'unverifiable'],
      /nothing in them is read/,
    ],
    [
      'of ByteCheckpoint',
      named('model/.metadata', 'optimizer/.metadata', 'model/__0_0.distcp'),
      ['bytecheckpoint', 'unverifiable'],
      /is of ByteCheckpoint/,
    ],
    [
      'of ByteCheckpoint without its optimizer',
      named('model/.metadata', 'extra_state/extra_state_rank_0.pt'),
      ['bytecheckpoint', 'incomplete'],
      /File optimizer\/\.metadata is not there/,
    ],
    [
      'of nvidia-resiliency-ext',
      named('iter_0000010_0_local.pt', 'iter_0000010_1_local.pt'),
      ['nvrx_local', 'unverifiable'],
      /local checkpoints of nvidia-resiliency-ext/,
    ],
    [
      'of nvidia-resiliency-ext while a rank writes',
      named('iter_0000010_0_local.pt', 'iter_0000010_1_local.pt.dirty'),
      ['nvrx_local', 'incomplete'],
      /File iter_0000010_1_local\.pt is not there: the save was not finished/,
    ],
    [
      'of nvidia-resiliency-ext whose newest step lacks a rank',
      named('iter_0000010_0_local.pt', 'iter_0000010_1_local.pt', 'iter_0000020_1_local.pt'),
      ['nvrx_local', 'incomplete'],
      /Rank 0 has no file, and rank 1 has one/,
    ],
    ['of Orbax', named('_CHECKPOINT_METADATA', 'default/manifest.ocdbt'), ['orbax', 'unverifiable'], /is of Orbax/],
    [
      'of Orbax without its marker',
      named('default/manifest.ocdbt', 'default/_METADATA'),
      ['orbax', 'incomplete'],
      /File _CHECKPOINT_METADATA is not there/,
    ],
    [
      'of PyTorch with metadata for each rank',
      named('__0.metadata', '__1.metadata', '__0_0.distcp', '__1_0.distcp'),
      ['dcp_rank_local', 'unverifiable'],
      /metadata for each rank/,
    ],
    [
      'of PyTorch without the metadata of a rank',
      named('__0.metadata', '__0_0.distcp', '__1_0.distcp'),
      ['dcp_rank_local', 'incomplete'],
      /File __1\.metadata is not there/,
    ],
    [
      'of Megatron-LM before torch_dist',
      { 'mp_rank_00/model_optim_rng.pt': STEP_7, 'mp_rank_01/model_optim_rng.pt': STEP_7 },
      ['legacy', 'unverifiable'],
      /its files are checked, and its tensors are not described/,
    ],
    [
      'of Megatron-LM without a position',
      { 'mp_rank_00_000/model_optim_rng.pt': STEP_7, 'mp_rank_01_001/model_optim_rng.pt': STEP_7 },
      ['legacy', 'incomplete'],
      /2 of 4 positions in the grid of ranks \(2 x 2 x 1\) have no file/,
    ],
    [
      'of Megatron-LM with files of two steps',
      { 'mp_rank_00/model_optim_rng.pt': STEP_7, 'mp_rank_01/model_optim_rng.pt': STEP_8 },
      ['legacy', 'damaged'],
      /Files are of different steps: 7 \(mp_rank_00/,
    ],
    [
      'of Megatron-LM with a cut file',
      { 'mp_rank_00/model_optim_rng.pt': STEP_7.subarray(0, -4) },
      ['legacy', 'damaged'],
      /it is cut/,
    ],
  ])('%s', (_what, files, [format, verdict], sentence) => {
    const found = look(files);
    expect([found.format, found.verdict]).toEqual([format, verdict]);
    expect(found.findings.map((finding) => finding.sentence).join('\n')).toMatch(sentence);
  });

  it('says ranks and step as far as its names do', () => {
    expect(look(named('iter_0000010_0_local.pt', 'iter_0000010_1_local.pt')).state?.facts).toMatchObject({
      step: 10,
      worldSize: 2,
    });
    expect(look({ 'mp_rank_00/model_optim_rng.pt': STEP_7 }).state?.facts).toMatchObject({ step: 7 });
  });
});
