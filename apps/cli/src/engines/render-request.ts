/** Files and flags of `coxswain render` as the question that they are. */
import { ENGINE_RELEASES, PlacementSpec, RenderingRequest, ranksOfPod } from '@coxswain/api-types';
import { isEngineName, knownRelease, meshFields, modelFields } from '@coxswain/engines';
import { engineNamed, type LayoutEngine, type ModelShape } from '@coxswain/layout';
import { CliError } from '../cli-error.ts';
import { withEngineFile } from '../files/engine-file.ts';
import { readJobFile } from '../job-files/job-file.ts';
import { readLayoutDocument } from '../plan/layout-file.ts';
import { problemsIn } from '../output/problems-in.ts';
import { plannedModel } from '../plan/planned-model.ts';
import { readDocument } from '../files/read-document.ts';

/** Options of `coxswain render` as they were typed. */
export interface RenderOptions {
  readonly layout?: string;
  readonly role?: string;
  /** NAME or NAME@RELEASE. */
  readonly engine?: string;
  readonly model?: string;
  readonly seq?: number;
  readonly globalBatch?: number;
  readonly microBatch?: number;
  readonly job?: string;
  readonly placement?: string;
  /** Configuration of the engine, whose values become its options. */
  readonly engineFile?: string;
}

/** The request that files and options describe. */
export interface ReadRendering {
  readonly request: RenderingRequest;
  /** What a person should know of how the files were read. */
  readonly notes: readonly string[];
}

type Part<Key extends keyof RenderingRequest> = Partial<NonNullable<RenderingRequest[Key]>>;

/** The fields that one source sets; later sources override earlier ones. */
type Fields = { readonly [Key in 'engine' | 'model' | 'training']?: Part<Key> } & Partial<
  Omit<RenderingRequest, 'engine' | 'model' | 'training'>
>;

/** Flags come before the placement, that before the layout file, and that before the job. */
export function readRendering(options: RenderOptions): ReadRendering {
  if (options.layout === undefined && options.job === undefined && options.placement === undefined)
    throw new CliError('No layout given: use --layout, --placement or --job.');
  const notes: string[] = [];
  const job = options.job === undefined ? {} : fieldsOfJob(options.job);
  const file = options.layout === undefined ? {} : fieldsOfLayout(options.layout, options, notes);
  const placement = options.placement === undefined ? {} : fieldsOfPlacement(options.placement);
  const fields = [job, file, placement, fieldsOfFlags(options)].reduce<Fields>(over, {});
  if (fields.engine?.name === undefined) throw new CliError('No engine given: use --engine NAME[@RELEASE].');
  if (fields.layout === undefined)
    throw new CliError(`${options.job ?? 'The job'} lets the planner choose its layout: give --layout.`);
  const engine = withEngineFile(fields.engine, options.engineFile);
  const parsed = RenderingRequest.safeParse({ ...fields, engine }, { reportInput: true });
  if (parsed.success) return { request: parsed.data, notes };
  const problems = problemsIn(parsed.error, { schema: RenderingRequest, whole: 'the request' });
  throw new CliError(`The request cannot be rendered:\n${problems.join('\n')}`);
}

/** The upper source wins, field by field; a model or an engine of another name replaces the whole one. */
function over(lower: Fields, upper: Fields): Fields {
  const { name } = upper.engine ?? {};
  const isOther = name !== undefined && lower.engine?.name !== undefined && lower.engine.name !== name;
  const under = isOther ? {} : lower.engine;
  const { sequenceLength, ...model } = upper.model ?? {};
  const modelBelow = Object.keys(model).length === 0 ? lower.model : { sequenceLength: lower.model?.sequenceLength };
  return {
    ...lower,
    ...upper,
    engine: { ...under, ...upper.engine },
    ...(lower.model === undefined && upper.model === undefined
      ? {}
      : { model: defined({ ...modelBelow, ...model, ...defined({ sequenceLength }) }) }),
    ...(lower.training === undefined && upper.training === undefined
      ? {}
      : { training: { ...lower.training, ...upper.training } }),
  };
}

function fieldsOfJob(path: string): Fields {
  const { spec } = readJobFile(path);
  const { image: _image, secretEnv: _values, secretFiles: _files, ...engine } = spec.engine;
  const { layout, model, training, data, initialWeights, checkpoint, resources } = spec;
  return defined({
    engine,
    layout,
    model,
    training,
    data,
    initialWeights,
    checkpoint,
    gpusPerPod: resources.gpusPerNode,
  });
}

function fieldsOfLayout(path: string, { role, model: ofFlag }: RenderOptions, notes: string[]): Fields {
  const { document, ofPlan } = readLayoutDocument(path, role);
  const { engine, layout, model, batch, lora, packing } = document;
  const release = engine?.version;
  const isKnown = engine !== undefined && knownRelease(engine) !== undefined;
  if (release !== undefined && !isKnown)
    notes.push(
      `the file is for ${engine?.name ?? ''} ${release}, which is no release that can be rendered: the newest one is`,
    );
  return defined({
    engine:
      engine === undefined
        ? undefined
        : defined({ name: engine.name, release: isKnown ? release : undefined, options: engine.options }),
    layout,
    model:
      ofFlag === undefined
        ? modelFields(model, batch?.sequenceLength)
        : defined({ sequenceLength: batch?.sequenceLength }),
    training: defined({
      globalBatchSize: batch?.globalBatchSize,
      microBatchSize: ofPlan?.microBatchSize ?? batch?.microBatchSize,
      lora,
      packing,
    }),
    ...(document.mesh === undefined ? {} : meshFields(document.mesh, layout)),
  }) as Fields;
}

function sizesOf({ name: _name, ...sizes }: ModelShape): Part<'model'> {
  return sizes;
}

/** A Placement as kubectl prints it, or its spec alone. */
function fieldsOfPlacement(path: string): Fields {
  const document = readDocument(path);
  const spec = typeof document === 'object' && document !== null && 'spec' in document ? document.spec : document;
  const parsed = PlacementSpec.safeParse(spec, { reportInput: true });
  if (!parsed.success) {
    const problems = problemsIn(parsed.error, { schema: PlacementSpec, whole: 'the Placement' });
    throw new CliError(`${path} is not a valid Placement:\n${problems.join('\n')}`);
  }
  const { layout, microBatchSize, nicClasses } = parsed.data;
  const gpusPerPod = ranksOfPod(parsed.data, 0).length;
  return defined({
    layout,
    training: microBatchSize === undefined ? undefined : { microBatchSize },
    nicClasses,
    gpusPerPod: gpusPerPod === 0 ? undefined : gpusPerPod,
  });
}

function fieldsOfFlags({ engine, model, seq, globalBatch, microBatch }: RenderOptions): Fields {
  const named = model === undefined ? {} : modelOfFlag(model);
  return defined({
    engine: engine === undefined ? undefined : engineOfFlag(engine),
    model: seq === undefined && model === undefined ? undefined : defined({ ...named, sequenceLength: seq }),
    training:
      globalBatch === undefined && microBatch === undefined
        ? undefined
        : defined({ globalBatchSize: globalBatch, microBatchSize: microBatch }),
  });
}

function modelOfFlag(nameOrFile: string): Part<'model'> {
  const { model, modelShape, huggingFace } = plannedModel(nameOrFile);
  if (model !== undefined) return { preset: model };
  return huggingFace === undefined ? sizesOf(modelShape ?? ({} as ModelShape)) : { huggingFace };
}

function engineOfFlag(text: string): Part<'engine'> {
  const [name = '', release, ...more] = text.split('@');
  const known = engineNamed(name);
  if (known === undefined || more.length > 0)
    throw new CliError(`--engine ${text}: give NAME or NAME@RELEASE; \`coxswain engines\` lists both.`);
  return defined({ name: known, release: release === undefined ? undefined : tagOf(known, release) });
}

/** As its repository tags the release: packages are numbered without what stands before. */
function tagOf(name: LayoutEngine, release: string): string {
  const tags = isEngineName(name) ? ENGINE_RELEASES[name] : [];
  return tags.find((tag) => tag === release || tag.endsWith(`v${release}`)) ?? release;
}

/** Without what is undefined. */
function defined<T extends object>(value: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>;
  };
}
