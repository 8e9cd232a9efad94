/** `megatron-bridge`: Megatron-LM's core, told by a configuration in Python that a recipe may begin. */
import { type EffectiveSpec, RANK_ENV } from '@coxswain/api-types';
import { RESUME_ARGUMENTS } from '../../megatron/checkpoint-arguments.ts';
import { megatronWords, wordRefusals } from '../../megatron/megatron-arguments.ts';
import { megatronRelease } from '../../megatron/releases.ts';
import type { Asked, Told } from '../../megatron/rendered-field.ts';
import { literally, refused, type RenderContext, type Rendering } from '../../rendering.ts';
import { savedCheckpoints } from '../../saved-checkpoints.ts';
import { given, type Json } from '../check.ts';
import { askedOf, variableRefusal, variablesOf } from '../megatron-lm.ts';
import { userEnvironment } from '../user-environment.ts';
import { decidedBy } from './decided.ts';
import { bridgeRelease, type Provider } from './fields.ts';
import { limitRefusal } from './limits.ts';
import { overrideRefusal } from './overrides.ts';
import { mixedPrecision } from './precision.ts';
import program from './program.generated.json' with { type: 'json' };
import { type Settings, settingsOfFlag } from './settings.ts';

/** Name of the Python module, and of its file. */
const MODULE = 'coxswain_megatron_bridge';
const RUNNER = ['python3', `$(${RANK_ENV.engineFiles})/${MODULE}.py`] as const;

export function renderMegatronBridge(spec: EffectiveSpec, context: RenderContext): Rendering {
  const release = bridgeRelease(spec.engine.release);
  const core = megatronRelease(release.core);
  if (core === undefined) throw new Error(`the options of ${release.core} are not committed`);
  const asked = askedOf(spec, { context, release: core, engine: 'megatron-bridge' });
  const told = megatronWords(asked);
  const said = saidBy(asked, told);
  const refusal =
    wordRefusals(asked, told)[0] ??
    limitRefusal(asked, said.told, said.provider) ??
    overrideRefusal(asked, said.owners) ??
    variableRefusal(spec, variablesOf(told));
  if (refusal !== undefined) return refused(refusal);
  const { hostMemoryGibPerGpu } = spec.layout.memory ?? {};
  return {
    kind: 'rendered',
    release: release.tag,
    startedBy: spec.engine.startedBy ?? 'launcher',
    command: [...(spec.engine.command?.map(literally) ?? RUNNER), ...(spec.engine.args ?? []).map(literally)],
    resumeArgs: spec.checkpoint === undefined ? [] : [...RESUME_ARGUMENTS],
    files: [
      { path: `${MODULE}.py`, text: literally(program.program) },
      { path: 'megatron-bridge.json', text: `${JSON.stringify(said.json, undefined, 2)}\n` },
      ...told.flatMap((one) => (one.kind === 'file' ? [{ path: one.path, text: one.text }] : [])),
    ],
    env: { ...userEnvironment(spec), ...variablesOf(told) },
    ports: [],
    stepLines: 'megatron',
    ...(spec.checkpoint === undefined ? {} : savedCheckpoints('megatron-bridge')),
    ...(hostMemoryGibPerGpu === undefined ? {} : { hostMemoryGibPerGpu }),
    notes: notesOf(spec, told),
  };
}

interface Said {
  /** What becomes of settings: all but the model where a recipe has it. */
  readonly told: readonly Flag[];
  readonly json: Readonly<Record<string, Json>>;
  /** Undefined where a recipe has the model. */
  readonly provider: Provider | undefined;
  /** The field that sets each setting. */
  readonly owners: ReadonlyMap<string, string>;
}

/** Of the model, what a recipe is held against; what else it has of the model is its own. */
const SIZES = new Set([
  ...['num_layers', 'hidden_size', 'ffn_hidden_size', 'num_attention_heads', 'num_query_groups', 'kv_channels'],
  ...['num_moe_experts', 'moe_router_topk', 'moe_ffn_hidden_size', 'moe_shared_expert_intermediate_size'],
  ...['q_lora_rank', 'kv_lora_rank', 'mamba_state_dim', 'mamba_num_heads', 'mamba_head_dim', 'gated_linear_unit'],
]);
/** Said by the job, whoever has the model. */
const NOT_OF_RECIPES = new Set(['model.sequenceLength', 'model.vocabularySize']);

type Flag = Extract<Told, { readonly kind: 'flag' | 'default' }>;

function saidBy(asked: Asked, told: readonly Told[]): Said {
  const { spec } = asked;
  const { recipe } = spec.engine;
  const flags = told.filter((one) => one.kind === 'flag' || one.kind === 'default');
  const isOfModel = (one: Flag): boolean =>
    one.kind === 'flag' && one.field.startsWith('model.') && !NOT_OF_RECIPES.has(one.field);
  const inSettings = recipe === undefined ? flags : flags.filter((one) => !isOfModel(one));
  const settings = {
    ...Object.assign({}, ...decidedBy(asked).map(([, decided]) => decided)),
    ...(recipe === undefined ? PLAIN : {}),
    ...merged(inSettings, asked),
  } as Settings;
  const owners = inSettings.flatMap((one) =>
    one.kind === 'flag' ? Object.keys(settingsOfFlag(one, asked) ?? {}).map((path) => [path, one.field] as const) : [],
  );
  const isPrecise = (asked.layout.kernel?.precision ?? spec.training?.precision) !== undefined;
  const provider = recipe === undefined ? providerOf(asked) : undefined;
  return {
    json: given<Json>({
      recipe,
      provider: provider && {
        kind: provider,
        gated: asked.shape?.gatedMlp ?? false,
        layers_differ: provider === 'latent' || (provider === 'gpt' && asked.shape?.experts !== undefined),
      },
      sizes: recipe === undefined ? undefined : sizesOf(merged(flags.filter(isOfModel), asked)),
      settings: placed(withoutData(settings, spec)),
      mixed_precision: mixedPrecision(told, isPrecise),
    }),
    told: inSettings,
    provider,
    owners: new Map(owners),
  };
}

/** As core_transformer_config_from_args of Megatron-LM has them where nothing is told; the classes of Megatron-Bridge have them off. */
const PLAIN: Settings = { 'model.bias_dropout_fusion': true, 'model.apply_rope_fusion': true };

function providerOf({ shape, program: which }: Asked): Provider {
  if (shape?.layerPattern !== undefined || which === 'hybrid') return 'hybrid';
  return shape?.latentAttention === undefined ? 'gpt' : 'latent';
}

/** Each field once, as it was told first. */
function merged(flags: readonly Flag[], asked: Asked): Settings {
  return Object.assign({}, ...flags.map((one) => settingsOfFlag(one, asked) ?? {}).toReversed()) as Settings;
}

function sizesOf(settings: Settings): Settings {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([path, value]) => {
      const [, name = ''] = path.split('.');
      return SIZES.has(name) ? [[name, value]] : [];
    }),
  );
}

/** A recipe's own data stays as it is, but for the length of samples. */
function withoutData(settings: Settings, { data, engine }: EffectiveSpec): Settings {
  if (data !== undefined || engine.recipe === undefined) return settings;
  return Object.fromEntries(Object.entries(settings).filter(([path]) => path !== 'dataset.random_seed'));
}

/** Dollar signs of the user stand for themselves; ours begin the value. */
function placed(value: Json): Json {
  if (typeof value === 'string')
    return /^\$\(COXSWAIN_(SAVE_DIR|ENGINE_FILES)\)/.test(value) ? value : literally(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map(placed);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, placed(inner as Json)]));
}

function notesOf({ engine, model }: EffectiveSpec, told: readonly Told[]): readonly string[] {
  const notes = told.flatMap((one) => (one.kind === 'note' ? [one.text] : []));
  const chosen =
    engine.release === undefined
      ? [`rendered for ${bridgeRelease(undefined).tag}, the newest release that is known`]
      : [];
  const ofRecipe =
    engine.recipe === undefined
      ? []
      : [
          `${engine.recipe} begins the configuration; what job and layout decide is set over it, also what they leave out`,
          ...(model === undefined
            ? []
            : ['the model is that of the recipe: the ranks end where its sizes are not those of the job']),
        ];
  return [...new Set([...chosen, ...ofRecipe, ...notes])];
}
