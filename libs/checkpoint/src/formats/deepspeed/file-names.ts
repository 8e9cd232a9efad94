/** What names of DeepSpeed's files say (DeepSpeedEngine._get_ckpt_name and the functions beside it; PipelineModule.ckpt_layer_path). */

/** A file of DeepSpeed by its name. `mp`: rank in the grid of tensor and pipeline ranks; `dp`: rank of data parallelism. */
export type DeepspeedName =
  | { readonly kind: 'model'; readonly mp: number; readonly dp: number | undefined; readonly prefix: string }
  | { readonly kind: 'optimizer'; readonly mp: number; readonly dp: number; readonly prefix: string }
  | { readonly kind: 'layer'; readonly layer: number; readonly part: string }
  | { readonly kind: 'expert'; readonly mp: number; readonly layer: number; readonly expert: number }
  | { readonly kind: 'expert-optimizer'; readonly mp: number; readonly rank: number };

const MODEL = /^(?:(zero_pp_rank_)(\d{1,6})_)?mp_rank_(\d{2,6})_model_states\.pt$/;
// The underscore before optim_states was missing in releases before 0.3.
const OPTIMIZER = /^((?:bf16_|fp16_)?zero_pp_rank_)(\d{1,6})_mp_rank_(\d{2,6})_?optim_states\.pt$/;
const LAYER = /^layer_(\d{2,6})(-[A-Za-z0-9_-]+)?-model_states\.pt$/;
const EXPERT = /^layer_(\d{1,6})_expert_(\d{1,6})_mp_rank_(\d{2,6})_model_states\.pt$/;
const EXPERT_OPTIMIZER = /^expp_rank_(\d{1,6})_mp_rank_(\d{2,6})_optim_states\.pt$/;

/** What a name says; undefined: it is no file of DeepSpeed's state. */
export function readName(path: string): DeepspeedName | undefined {
  const model = MODEL.exec(path);
  if (model !== null)
    return {
      kind: 'model',
      prefix: model[1] ?? '',
      dp: model[2] === undefined ? undefined : Number(model[2]),
      mp: Number(model[3]),
    };
  const optimizer = OPTIMIZER.exec(path);
  if (optimizer !== null)
    return { kind: 'optimizer', prefix: optimizer[1] ?? '', dp: Number(optimizer[2]), mp: Number(optimizer[3]) };
  const expert = EXPERT.exec(path);
  if (expert !== null)
    return { kind: 'expert', layer: Number(expert[1]), expert: Number(expert[2]), mp: Number(expert[3]) };
  const experts = EXPERT_OPTIMIZER.exec(path);
  if (experts !== null) return { kind: 'expert-optimizer', rank: Number(experts[1]), mp: Number(experts[2]) };
  const layer = LAYER.exec(path);
  return layer === null ? undefined : { kind: 'layer', layer: Number(layer[1]), part: layer[2] ?? '' };
}

/** The grid of ranks that a save of DeepSpeed has files for. */
export interface Grid {
  readonly modelRanks: number;
  readonly dataRanks: number;
}

/** A file can say any number of ranks: the names of more missing files are not listed. */
const MAX_MISSING = 1000;

/**
 * Names of the files that a grid needs and that are not there, at most {@link MAX_MISSING}. Ranks are a set: a stray rank stands for no other one.
 * `hasZero`: each rank saves a part of the optimizer's state.
 */
export function missingFiles(paths: Iterable<string>, grid: Grid, hasZero: boolean): readonly string[] {
  const there = new Set(paths);
  const names = namesOf(there);
  const optimizer = names.find((name) => name.kind === 'optimizer')?.prefix ?? 'zero_pp_rank_';
  const isPartitioned = names.some((name) => name.kind === 'model' && name.dp !== undefined);
  // Without ZeRO nothing is divided among ranks of data parallelism.
  const dataRanks = isPartitioned || hasZero ? grid.dataRanks : 0;
  const missing: string[] = [];
  const need = (name: string): void => {
    if (!there.has(name)) missing.push(name);
  };
  for (let mp = 0; mp < grid.modelRanks && missing.length < MAX_MISSING; mp++) {
    const model = `mp_rank_${String(mp).padStart(2, '0')}`;
    if (!isPartitioned) need(`${model}_model_states.pt`);
    for (let dp = 0; dp < dataRanks && missing.length < MAX_MISSING; dp++) {
      if (isPartitioned) need(`zero_pp_rank_${String(dp)}_${model}_model_states.pt`);
      if (hasZero) need(`${optimizer}${String(dp)}_${model}_optim_states.pt`);
    }
  }
  return missing;
}

/** Names of files of ranks that the grid does not have. */
export function strayFiles(paths: Iterable<string>, { modelRanks, dataRanks }: Grid): readonly string[] {
  return [...paths].filter((path) => {
    const name = readName(path);
    if (name?.kind !== 'model' && name?.kind !== 'optimizer') return false;
    return name.mp >= modelRanks || (name.dp ?? 0) >= dataRanks;
  });
}

/** What all these names say. */
export function namesOf(paths: Iterable<string>): readonly DeepspeedName[] {
  return [...paths].flatMap((path) => readName(path) ?? []);
}
