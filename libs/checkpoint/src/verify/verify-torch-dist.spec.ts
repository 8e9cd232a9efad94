import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { MemorySave } from '../testing/memory-save.ts';
import type { Level } from './finding.ts';
import { type SaveLook, verifySave } from './verify-save.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures');

/** A save of Megatron-Core 0.16.1 at tensor-parallel 2, made by `engines/fixtures/save_megatron.py`. */
const fixture = (sharding = 'dp_reshardable'): MemorySave => readSave('megatron-core-0.16.1', sharding);

function readSave(...path: readonly string[]): MemorySave {
  const folder = join(FIXTURES, ...path);
  return new MemorySave(
    Object.fromEntries(readdirSync(folder).map((path) => [path, Uint8Array.from(readFileSync(join(folder, path)))])),
  );
}

const look = (save: MemorySave, level: Level = 'V3'): SaveLook => save.run(verifySave(save.list(), { level, crc32 }));

/** The metadata as Megatron-Core 0.15 writes it: an object of a class of its own, where nothing else changes. */
function withMetadataOf(megatron: boolean): (bytes: Uint8Array) => Uint8Array {
  const text = (value: string): string => `\x8c${String.fromCharCode(value.length)}${value}`;
  const own = `${text('torch.distributed.checkpoint.metadata')}\x94${text('Metadata')}\x94\x93`;
  const module = megatron ? 'megatron.core.dist_checkpointing.strategies.torch' : 'os.path';
  // POP takes the usual class away, so that what the memo holds stays as it is.
  return (bytes) => {
    const latin = Buffer.from(bytes).toString('latin1');
    expect(latin).toContain(own);
    return Uint8Array.from(
      Buffer.from(latin.replace(own, `${own}0${text(module)}${text('MCoreMetadata')}\x93`), 'latin1'),
    );
  };
}

/** Replaces text by text of the same length, so that the pickle stays one. */
function replace(save: MemorySave, path: string, text: string, by: string): void {
  save.edit(path, (bytes) => {
    const latin = Buffer.from(bytes).toString('latin1');
    expect([latin.includes(text), by.length]).toEqual([true, text.length]);
    return Uint8Array.from(Buffer.from(latin.replaceAll(text, by), 'latin1'));
  });
}

describe.each(['dp_reshardable', 'fully_reshardable'])(
  'a sound save of Megatron-Core whose optimizer is %s',
  (sharding) => {
    it('is sound, down to its bytes', () => {
      expect(look(fixture(sharding))).toMatchObject({ format: 'torch_dist', verdict: 'sound', findings: [] });
    });

    it('says at which step and degrees it was saved, and how its optimizer is divided', () => {
      expect(look(fixture(sharding), 'V1').state?.facts).toEqual({
        step: 12,
        optimizerSharding: sharding,
        worldSize: 2,
        degrees: {
          tensorParallelDegree: 2,
          pipelineParallelDegree: 1,
          dataParallelDegree: 1,
          contextParallelDegree: 1,
          'expert.expertParallelDegree': 1,
          'pipeline.chunksPerRank': 1,
        },
        vocabulary: { rows: 32 },
        holds: { optimizer: true, randomStates: true, dataLoader: undefined, scheduler: true },
      });
    });

    it('has parameters, their copies in float32 and two moments of each', () => {
      const kinds = (look(fixture(sharding), 'V1').state?.tensors ?? []).map(({ key, kind, dtype }) =>
        [key.startsWith('optimizer.') ? 'optimizer' : 'model', kind, dtype].join(' '),
      );
      const masters = sharding === 'dp_reshardable' ? 2 : 8;
      expect(Object.entries(Object.groupBy(kinds, (kind) => kind)).map(([kind, all]) => [kind, all?.length])).toEqual([
        ['model parameter bfloat16', 8],
        ['optimizer master float32', masters],
        ['optimizer moment float32', 2 * masters],
      ]);
    });
  },
);

describe('of a save of Megatron-Core', () => {
  it.each<[what: string, found: [SaveLook['verdict'], Level], sentence: RegExp, change: (save: MemorySave) => void]>([
    [
      'without its index is incomplete: Megatron-Core loads nothing without it',
      ['incomplete', 'V0'],
      /has no metadata\.json: it was not finished/,
      (save) => save.files.delete('metadata.json'),
    ],
    [
      'whose index is empty is damaged',
      ['damaged', 'V0'],
      /metadata\.json is cut, or is no JSON/,
      (save) => save.edit('metadata.json', () => new Uint8Array()),
    ],
    [
      'whose index names another format is not read',
      ['unverifiable', 'V0'],
      /names the format zarr/,
      (save) => save.edit('metadata.json', () => Buffer.from('{"sharded_backend": "zarr"}')),
    ],
    [
      'without common.pt is incomplete',
      ['incomplete', 'V1'],
      /has no common\.pt: its arguments and its step are missing/,
      (save) => save.files.delete('common.pt'),
    ],
    [
      'whose common.pt is cut is damaged',
      ['damaged', 'V1'],
      /common\.pt does not end as an archive of torch\.save does/,
      (save) => save.edit('common.pt', (bytes) => bytes.subarray(0, 900)),
    ],
    [
      'whose common.pt is a link is damaged',
      ['damaged', 'V1'],
      /common\.pt is a link/,
      (save) => save.links.add('common.pt'),
    ],
    [
      'with a flipped bit in common.pt is damaged',
      ['damaged', 'V3'],
      /common\.pt has other bytes in data\.pkl than were saved/,
      (save) => replace(save, 'common.pt', 'iteration', 'iteratiom'),
    ],
    [
      'without the random states of a rank is incomplete',
      ['incomplete', 'V1'],
      /Object rng_state has 1 of 2 shards; rng_state\/shard_0\.1_1\.2 is missing/,
      (save) => replace(save, '.metadata', 'rng_state/shard_0.1_1.2', 'rng_other/shard_0.1_1.2'),
    ],
    [
      'without the shard file of a rank is incomplete',
      ['incomplete', 'V1'],
      /File __1_0\.distcp is not there/,
      (save) => save.files.delete('__1_0.distcp'),
    ],
  ])('one %s', (_what, [verdict, level], sentence, change) => {
    const save = fixture();
    change(save);
    const found = look(save);
    expect([found.format, found.verdict]).toEqual(['torch_dist', verdict]);
    expect(found.findings).toEqual(
      expect.arrayContaining([{ level, kind: verdict, sentence: expect.stringMatching(sentence) as string }]),
    );
  });

  it('a tokenizer and settings beside it change nothing', () => {
    const save = fixture();
    for (const path of ['tokenizer/tokenizer.json', 'run_config.yaml', 'train_state.pt', 'integrity.json'])
      save.edit(path, () => new Uint8Array(3));
    expect(look(save)).toMatchObject({ verdict: 'sound', findings: [] });
  });

  it('an optimizer that its common state does not name is known by its names', () => {
    const save = fixture();
    replace(save, 'common.pt', 'distrib_optim_sharding_type', 'distrib_optim_sharding_typo');
    replace(save, 'common.pt', 'param_state_sharding_type', 'param_state_sharding_typo');
    expect(look(save, 'V1').state?.facts?.optimizerSharding).toBe('dp_reshardable');
  });
});

describe('a save of Megatron-Core 0.15', () => {
  it('has metadata of a class of its own, which is read', () => {
    const save = fixture();
    save.edit('.metadata', withMetadataOf(true));
    expect(look(save)).toMatchObject({ verdict: 'sound', findings: [] });
  });

  it('is distinguished from metadata of any other class', () => {
    const save = fixture();
    save.edit('.metadata', withMetadataOf(false));
    expect(look(save).verdict).toBe('damaged');
  });
});

describe('a save of Megatron-FSDP', () => {
  const fsdp = (): MemorySave => readSave('fsdp-dtensor-2.15.0');

  it('is known by the names of its optimizer, and says at which step and degrees it was saved', () => {
    expect(look(fsdp())).toMatchObject({
      format: 'fsdp_dtensor',
      verdict: 'sound',
      state: {
        facts: {
          step: 12,
          worldSize: 4,
          degrees: { dataParallelDegree: 4 },
          optimizerSharding: 'fsdp_dtensor',
          holds: { optimizer: true, randomStates: true, scheduler: true },
        },
      },
    });
  });

  it('whose objects are cut away is found damaged, and says nothing of them', () => {
    const save = fsdp();
    save.edit('__0_0.distcp', (bytes) => bytes.subarray(0, 2));
    const { verdict, state } = look(save);
    expect([verdict, state?.facts?.step, state?.facts?.degrees]).toEqual(['damaged', undefined, undefined]);
  });
});
