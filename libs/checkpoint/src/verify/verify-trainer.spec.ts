import { crc32 } from 'node:zlib';
import { fixture, repickled } from '../testing/fixture.ts';
import type { MemorySave } from '../testing/memory-save.ts';
import type { Level } from './finding.ts';
import { type SaveLook, verifySave } from './verify-save.ts';

const SAVE = 'hugging-face-5.23.0/checkpoint-2';
const look = (save: MemorySave, level: Level = 'V3'): SaveLook => save.run(verifySave(save.list(), { level, crc32 }));
const text = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value));

function addBelow(save: MemorySave, folder: string, other: MemorySave): void {
  for (const [path, bytes] of other.files) save.files.set(folder === '' ? path : `${folder}/${path}`, bytes);
}

describe('a sound folder of the Trainer', () => {
  it('holds weights, running means and random states of two ranks; only the weights have no checksums', () => {
    const found = look(fixture(SAVE));
    expect(found).toMatchObject({
      format: 'hugging-face',
      verdict: 'unverifiable',
      findings: [{ level: 'V3', kind: 'unverifiable' }],
      state: {
        facts: {
          step: 2,
          engineRelease: 'transformers 5.23.0',
          worldSize: 2,
          holds: { optimizer: true, randomStates: true, dataLoader: false, scheduler: true },
        },
      },
    });
    const kinds = Object.groupBy(found.state?.tensors ?? [], ({ kind }) => kind ?? 'none');
    expect([kinds.parameter?.length, kinds.moment?.length]).toEqual([16, 32]);
    expect(found.state?.objects.map(({ key }) => key).toSorted()).toEqual(['rng_state_0', 'rng_state_1', 'scheduler']);
  });

  it('is sound as far as its structure shows', () => {
    expect(look(fixture(SAVE), 'V2').verdict).toBe('sound');
  });

  it.each(['adapter_model.bin', 'reference/adapter_model.safetensors', 'pytorch_model_fsdp_rank0.bin', 'model.pth'])(
    'may call its weights %s',
    (path) => {
      const save = fixture(SAVE);
      save.files.set(path, save.files.get('model.safetensors') ?? new Uint8Array());
      save.files.delete('model.safetensors');
      expect(look(save, 'V0').findings.map(({ sentence }) => sentence)).not.toContain(
        'The save has no file of weights.',
      );
    },
  );

  it.each(['NaN', 'Infinity', '-Infinity'])('may have logged %s', (number) => {
    const save = fixture(SAVE);
    save.edit('trainer_state.json', (bytes) =>
      text(Buffer.from(bytes).toString().replace('"log_history": []', `"log_history": [{ "grad_norm": ${number} }]`)),
    );
    expect(Buffer.from(save.files.get('trainer_state.json') ?? []).toString()).toContain(number);
    expect(look(save, 'V2')).toMatchObject({ verdict: 'sound', state: { facts: { step: 2 } } });
  });

  it('of FSDP holds saves of PyTorch in folders', () => {
    const save = fixture(SAVE);
    for (const path of ['model.safetensors', 'optimizer.pt']) save.files.delete(path);
    for (const folder of ['pytorch_model_fsdp_0', 'optimizer_0']) addBelow(save, folder, fixture('dcp-2.15.0'));
    const found = look(save);
    expect([found.verdict, found.state?.facts?.holds.optimizer]).toEqual(['sound', true]);
    expect(found.state?.tensors[0]?.chunks[0]?.item?.file).toBe('pytorch_model_fsdp_0/__0_0.distcp');
    save.files.delete('optimizer_0/__1_0.distcp');
    expect(
      look(save)
        .findings.map(({ sentence }) => sentence)
        .join('\n'),
    ).toContain('In optimizer_0: File __1_0.distcp is not there');
  });

  it('of DeepSpeed holds a save of it', () => {
    const save = fixture(SAVE);
    for (const path of ['model.safetensors', 'optimizer.pt']) save.files.delete(path);
    addBelow(save, '', fixture('deepspeed-0.19.8/zero3'));
    const found = look(save);
    expect([found.format, found.verdict, found.state?.facts]).toMatchObject([
      'hugging-face',
      'sound',
      { optimizerSharding: 'zero3', worldSize: 2, holds: { optimizer: true } },
    ]);
  });
});

describe('of a folder of the Trainer', () => {
  it.each<[what: string, found: [SaveLook['verdict'], Level], sentence: RegExp, change: (save: MemorySave) => void]>([
    [
      'without the random states of a rank is incomplete',
      ['incomplete', 'V1'],
      /File rng_state_0\.pth is not there; random states of 1 of 2 ranks are missing/,
      (save) => save.files.delete('rng_state_0.pth'),
    ],
    [
      'with the random states of rank 0 alone is incomplete: one rank alone has another name',
      ['incomplete', 'V1'],
      /File rng_state_1\.pth is not there/,
      (save) => save.files.delete('rng_state_1.pth'),
    ],
    [
      'with random states of a stray rank in place of one is incomplete',
      ['incomplete', 'V1'],
      /File rng_state_1\.pth is not there; random states of 6 of 8 ranks/,
      (save) => {
        save.files.set('rng_state_7.pth', save.files.get('rng_state_1.pth') ?? new Uint8Array());
        save.files.delete('rng_state_1.pth');
      },
    ],
    [
      'without the optimizer is incomplete',
      ['incomplete', 'V1'],
      /random states and no state of the optimizer/,
      (save) => save.files.delete('optimizer.pt'),
    ],
    [
      'without the scheduler is incomplete: then the optimizer is not loaded either',
      ['incomplete', 'V1'],
      /File scheduler\.pt is not there/,
      (save) => save.files.delete('scheduler.pt'),
    ],
    [
      'without weights is incomplete',
      ['incomplete', 'V1'],
      /no file of weights/,
      (save) => save.files.delete('model.safetensors'),
    ],
    [
      'with cut weights is damaged',
      ['damaged', 'V1'],
      /File model\.safetensors has \d+ bytes, and its tensors end at/,
      (save) => save.edit('model.safetensors', (bytes) => bytes.subarray(0, -4)),
    ],
    [
      'with a cut optimizer is damaged',
      ['damaged', 'V1'],
      /File optimizer\.pt .* it is cut/,
      (save) => save.edit('optimizer.pt', (bytes) => bytes.subarray(0, -100)),
    ],
    [
      'with a link in place of a file is damaged',
      ['damaged', 'V1'],
      /File optimizer\.pt is a link, which is not followed/,
      (save) => save.links.add('optimizer.pt'),
    ],
    [
      'with a broken state of the Trainer is damaged',
      ['damaged', 'V1'],
      /File trainer_state\.json does not say the step/,
      (save) => save.edit('trainer_state.json', (bytes) => bytes.subarray(0, 100)),
    ],
    [
      'whose optimizer is of another step is suspect',
      ['suspect', 'V1'],
      /The optimizer made 2 steps, and trainer_state\.json says 9/,
      (save) =>
        save.edit('trainer_state.json', (bytes) =>
          text(Buffer.from(bytes).toString().replace('"global_step": 2', '"global_step": 9')),
        ),
    ],
    [
      'whose running means have more elements than bytes is damaged',
      ['damaged', 'V1'],
      /File optimizer\.pt holds 4 bytes for optimizer\.0\.step, whose elements of float64 end at byte 8/,
      (save) =>
        save.edit('optimizer.pt', (bytes) =>
          repickled(bytes, (pickle) => pickle.replace('FloatStorage', 'DoubleStorage')),
        ),
    ],
    [
      'with a flipped bit in the optimizer is damaged',
      ['damaged', 'V3'],
      /File optimizer\.pt has other bytes in data\/1 than were saved/,
      (save) => save.edit('optimizer.pt', (bytes) => bytes.fill((bytes[4096] ?? 0) ^ 1, 4096, 4097)),
    ],
  ])('one %s', (_what, [verdict, level], sentence, change) => {
    const save = fixture(SAVE);
    change(save);
    const found = look(save, verdict === 'suspect' ? 'V2' : 'V3');
    expect(found.findings).toEqual(
      expect.arrayContaining([{ level, kind: verdict, sentence: expect.stringMatching(sentence) as string }]),
    );
    expect(found.verdict).toBe(verdict);
  });
});
