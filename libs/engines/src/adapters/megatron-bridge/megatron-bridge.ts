/** `megatron-bridge`: the core of Megatron-LM, configured in Python. A recipe can give the initial configuration. */
import { type EffectiveSpec, RANK_ENV } from '@coxswain/api-types';
import { RESUME_ARGUMENTS } from '../../megatron/checkpoint-arguments.ts';
import { megatronArguments, fieldRefusals } from '../../megatron/megatron-arguments.ts';
import { megatronRelease } from '../../megatron/releases.ts';
import type { MegatronJob, RenderedField } from '../../megatron/rendered-field.ts';
import { literally, refused, type RenderContext, type Rendering } from '../../rendering.ts';
import { savedCheckpoints } from '../../saved-checkpoints.ts';
import { given, type Json } from '../check.ts';
import { toMegatronJob, variableRefusal, variablesOf } from '../megatron-lm.ts';
import { userEnvironment } from '../user-environment.ts';
import { decidedBy } from './decided.ts';
import { bridgeRelease, type Provider } from './fields.ts';
import { limitRefusal } from './limits.ts';
import { overrideRefusal } from './overrides.ts';
import { bridgeLora, loraRefusal } from './lora.ts';
import { mixedPrecision } from './precision.ts';
import program from './program.generated.json' with { type: 'json' };
import { type Settings, settingsOfFlag } from './settings.ts';

/** Name of the Python module, and of its file. */
const MODULE = 'coxswain_megatron_bridge';
const RUNNER = ['python3', `$(${RANK_ENV.engineFiles})/${MODULE}.py`] as const;

/** Renders a job for Megatron-Bridge. */
export function renderMegatronBridge(spec: EffectiveSpec, context: RenderContext): Rendering {
  const release = bridgeRelease(spec.engine.release);
  const core = megatronRelease(release.core);
  if (core === undefined) throw new Error(`the options of ${release.core} are not committed`);
  const job = toMegatronJob(spec, { context, release: core, engine: 'megatron-bridge' });
  const fields = megatronArguments(job);
  const configuration = configurationOf(job, fields);
  const refusal =
    fieldRefusals(job, fields)[0] ??
    loraRefusal(job) ??
    limitRefusal(job, configuration.fields, configuration.provider) ??
    overrideRefusal(job, configuration.owners) ??
    variableRefusal(spec, variablesOf(fields));
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
      { path: 'megatron-bridge.json', text: `${JSON.stringify(configuration.json, undefined, 2)}\n` },
      ...fields.flatMap((one) => (one.kind === 'file' ? [{ path: one.path, text: one.text }] : [])),
    ],
    env: { ...userEnvironment(spec), ...variablesOf(fields) },
    ports: [],
    stepLines: 'megatron',
    ...(spec.checkpoint === undefined ? {} : savedCheckpoints('megatron-bridge')),
    ...(hostMemoryGibPerGpu === undefined ? {} : { hostMemoryGibPerGpu }),
    notes: notesOf(spec, fields),
  };
}

interface BridgeConfiguration {
  /** What becomes of settings: all but the model where a recipe has it. */
  readonly fields: readonly Flag[];
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
/** Set by the job, even if a recipe gives the model. */
const NOT_OF_RECIPES = new Set(['model.sequenceLength', 'model.vocabularySize']);

type Flag = Extract<RenderedField, { readonly kind: 'flag' | 'default' }>;

function configurationOf(job: MegatronJob, fields: readonly RenderedField[]): BridgeConfiguration {
  const { spec } = job;
  const { recipe } = spec.engine;
  const flags = fields.filter((one) => one.kind === 'flag' || one.kind === 'default');
  const isOfModel = (one: Flag): boolean =>
    one.kind === 'flag' && one.field.startsWith('model.') && !NOT_OF_RECIPES.has(one.field);
  const inSettings = recipe === undefined ? flags : flags.filter((one) => !isOfModel(one));
  const settings = {
    ...Object.assign({}, ...decidedBy(job).map(([, decided]) => decided)),
    ...(recipe === undefined ? PLAIN : {}),
    ...merged(inSettings, job),
  } as Settings;
  const owners = inSettings.flatMap((one) =>
    one.kind === 'flag' ? Object.keys(settingsOfFlag(one, job) ?? {}).map((path) => [path, one.field] as const) : [],
  );
  const isPrecise = (job.layout.kernel?.precision ?? spec.training?.precision) !== undefined;
  const provider = recipe === undefined ? providerOf(job) : undefined;
  return {
    json: given<Json>({
      recipe,
      provider: provider && {
        kind: provider,
        gated: job.shape?.gatedMlp ?? false,
        layers_differ: provider === 'latent' || (provider === 'gpt' && job.shape?.experts !== undefined),
      },
      sizes: recipe === undefined ? undefined : sizesOf(merged(flags.filter(isOfModel), job)),
      settings: placed(withoutData(settings, spec)),
      mixed_precision: mixedPrecision(fields, isPrecise),
      lora: bridgeLora(job),
    }),
    fields: inSettings,
    provider,
    owners: new Map(owners),
  };
}

/** Defaults of core_transformer_config_from_args of Megatron-LM; the classes of Megatron-Bridge have them off. */
const PLAIN: Settings = { 'model.bias_dropout_fusion': true, 'model.apply_rope_fusion': true };

function providerOf({ shape, program: which }: MegatronJob): Provider {
  if (shape?.layerPattern !== undefined || which === 'hybrid') return 'hybrid';
  return shape?.latentAttention === undefined ? 'gpt' : 'latent';
}

/** Each field once; the first value counts. */
function merged(flags: readonly Flag[], job: MegatronJob): Settings {
  return Object.assign({}, ...flags.map((one) => settingsOfFlag(one, job) ?? {}).toReversed()) as Settings;
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

/** Dollar signs of the user are literal; only values that begin with ours are references. */
function placed(value: Json): Json {
  if (typeof value === 'string')
    return /^\$\(COXSWAIN_(SAVE_DIR|ENGINE_FILES)\)/.test(value) ? value : literally(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map(placed);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, placed(inner as Json)]));
}

function notesOf({ engine, model }: EffectiveSpec, fields: readonly RenderedField[]): readonly string[] {
  const notes = fields.flatMap((one) => (one.kind === 'note' ? [one.text] : []));
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
