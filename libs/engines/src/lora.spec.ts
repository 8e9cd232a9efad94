/** Adapters (training.lora): rendered by engines that train them, refused by the others with the way out. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { renderEngine } from './render-engine.ts';
import { JOBS_OF_ENGINES } from './testing/jobs-of-engines.ts';

type Lora = NonNullable<NonNullable<EffectiveSpec['training']>['lora']>;
type Rest = Partial<Pick<EffectiveSpec, 'initialWeights'>> & { readonly args?: readonly string[] };

const WEIGHTS = { claimName: 'weights', path: 'base', format: 'torch_dist' } as const;

function rendered(engine: string, lora: Lora, { args, ...rest }: Rest = {}): ReturnType<typeof renderEngine> {
  const spec = JOBS_OF_ENGINES.find((one) => one.engine === engine && !one.what.includes('adapters'))
    ?.job as EffectiveSpec;
  const { training } = spec;
  if (training === undefined) throw new Error(`the job of ${engine} has no training`);
  return renderEngine({
    ...spec,
    ...rest,
    engine: { ...spec.engine, ...(args === undefined ? {} : { args: [...args] }) },
    training: { ...training, lora },
  });
}

function fileOf(rendering: ReturnType<typeof renderEngine>, path: string): unknown {
  const text = rendering.kind === 'rendered' ? rendering.files.find((file) => file.path === path)?.text : undefined;
  return JSON.parse(text ?? 'null');
}

it.each<[string, Lora, readonly string[]]>([
  [
    'with the scale and the layers that are priced where the job leaves them out',
    { rank: 16 },
    ['--use_peft=true', '--lora_r=16', '--lora_alpha=32', '--lora_dropout=0', '--lora_target_modules', 'all-linear'],
  ],
  [
    'as they are given',
    { rank: 8, alpha: 8, dropout: 0.1, targets: ['v_proj', 'q_proj'] },
    ['--lora_r=8', '--lora_alpha=8', '--lora_dropout=0.1', '--lora_target_modules', 'q_proj', 'v_proj'],
  ],
])('Trainer receives adapters as arguments of TRL, %s', (_sentence, lora, want) => {
  const run = rendered('hugging-face', lora);
  expect(run).toMatchObject({ kind: 'rendered', command: expect.arrayContaining([...want]) as string[] });
  expect(fileOf(run, 'job.json')).toMatchObject({ training: { lora } });
});

it.each<[string, Lora, object]>([
  [
    'all linear layers',
    { rank: 16 },
    { dim: 16, alpha: 32, dropout: 0, target_modules: ['linear_qkv', 'linear_proj', 'linear_fc1', 'linear_fc2'] },
  ],
  [
    'those of attention',
    { rank: 4, alpha: 4, targets: ['q_proj', 'k_proj', 'v_proj'] },
    { dim: 4, alpha: 4, dropout: 0, target_modules: ['linear_qkv'] },
  ],
])('Megatron-Bridge receives adapters as its class LoRA: %s', (_sentence, lora, want) => {
  const run = rendered('megatron-bridge', lora, { initialWeights: WEIGHTS });
  expect(fileOf(run, 'megatron-bridge.json')).toMatchObject({ lora: want });
});

it.each<[string, string, Lora, Rest, string, RegExp]>([
  ['Megatron-LM', 'megatron-lm', { rank: 8 }, {}, 'training.lora', /hugging-face or megatron-bridge/],
  ['TorchTitan', 'torchtitan', { rank: 8 }, {}, 'training.lora', /hugging-face or megatron-bridge/],
  ['the reference engine', 'reference', { rank: 8 }, {}, 'training.lora', /hugging-face or megatron-bridge/],
  ['Megatron-Bridge without weights', 'megatron-bridge', { rank: 8 }, {}, 'initialWeights', /set initialWeights/],
  [
    'Megatron-Bridge where one matrix of several in a layer is adapted',
    'megatron-bridge',
    { rank: 8, targets: ['q_proj'] },
    { initialWeights: WEIGHTS },
    'training.lora.targets',
    /q_proj, k_proj, v_proj together/,
  ],
  [
    'Trainer where the arguments of the script state adapters as well',
    'hugging-face',
    { rank: 8 },
    { args: ['--lora_r=4'] },
    'training.lora',
    /remove --lora_r=4/,
  ],
])('adapters are refused by %s', (_sentence, ...[engine, lora, rest, field, fallback]) => {
  expect(rendered(engine, lora, rest)).toMatchObject({
    kind: 'refused',
    field,
    fallback: expect.stringMatching(fallback) as string,
  });
});

it.each(['deepspeed', 'custom'])('a script of %s reads adapters from job.json, and a note says so', (engine) => {
  const run = rendered(engine, { rank: 8 });
  expect(run).toMatchObject({ notes: expect.arrayContaining([expect.stringContaining('training.lora')]) as string[] });
  expect(fileOf(run, 'job.json')).toMatchObject({ training: { lora: { rank: 8 } } });
});
