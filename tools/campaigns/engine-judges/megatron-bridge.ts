/** What does Megatron-Bridge say of the configurations that are rendered for it? */
import type { EffectiveSpec } from '@coxswain/api-types';
import { renderEngine } from '@coxswain/engines';
import { aDraft, CAPABILITIES, capableJobs, specOf } from '@coxswain/engines/testing';
import { worldSize } from '@coxswain/layout';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { driftBetween, linesOf } from './judge-process.ts';

const JUDGES = resolve(import.meta.dirname, '../../../engines/judges/megatron_bridge');
const FIELDS = resolve(import.meta.dirname, '../../../libs/engines/src/adapters/megatron-bridge');
const PYTHON = process.env['MEGATRON_BRIDGE_PYTHON'] ?? 'python3';
/** How often each capability occurs. */
const TIMES = 5;

interface Question {
  readonly name: string;
  readonly refusals: readonly { readonly rule: string; readonly why: string }[];
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly worldSize: number;
  /** What is said where the ranks are to end; absent: nothing. */
  readonly ends?: RegExp;
}

interface Verdict {
  readonly id: number;
  readonly why: string | null;
  readonly changed: readonly string[];
}

/** Resolves with true when fields and jobs of the release agree. `megatron`: the checkout that it pins. */
export async function judgeMegatronBridge(bridge: string, megatron: string, seed: number): Promise<boolean> {
  const checkouts = [bridge, megatron];
  const release = releaseOf(bridge);
  const lines = await linesOf([PYTHON, resolve(JUDGES, 'bridge_fields.py'), ...checkouts, release], '');
  const drift = driftBetween(lines, readFileSync(resolve(FIELDS, `fields-${release}.generated.json`), 'utf8'));
  const asks = asking(release);
  const jobs = [...capableJobs(asks, { times: TIMES, seed }), ...withRecipes(asks)];
  const asked = jobs.map(({ name: _name, refusals: _refusals, ends: _ends, ...one }, id) =>
    JSON.stringify({ id, args: [], ...one }),
  );
  const printed = await linesOf([PYTHON, resolve(JUDGES, 'bridge_judge.py'), ...checkouts], `${asked.join('\n')}\n`);
  const verdicts = printed.filter((line) => line.startsWith('{"id"')).map((line) => JSON.parse(line) as Verdict);
  const wrong = jobs.flatMap((job, index) =>
    disagreement(
      job,
      verdicts.find(({ id }) => id === index),
    ),
  );
  const shown = new Set(jobs.flatMap((job) => ('capability' in job ? [job.capability] : [])));
  const absent = Object.keys(CAPABILITIES).filter((name) => !shown.has(name));
  for (const line of [...drift, ...wrong]) process.stdout.write(`  ${line}\n`);
  process.stdout.write(
    `Megatron-Bridge ${release}: ${jobs.length} sound jobs, ${wrong.length} disagreements, absent here: ${absent.join(', ')}\n`,
  );
  return drift.length === 0 && wrong.length === 0;
}

/** As the package in the checkout names itself. */
function releaseOf(bridge: string): string {
  const text = readFileSync(resolve(bridge, 'src/megatron/bridge/package_info.py'), 'utf8');
  const parts = ['MAJOR', 'MINOR', 'PATCH'].map((name) => new RegExp(`^${name} = (\\d+)$`, 'm').exec(text)?.[1] ?? '?');
  return `v${parts.join('.')}`;
}

type Asks = (name: string, spec: EffectiveSpec, engine?: Partial<EffectiveSpec['engine']>) => Question;

function asking(release: string): Asks {
  return (name, spec, engine = {}) => {
    const rendered = renderEngine({ ...spec, engine: { name: 'megatron-bridge', release, image: 'x', ...engine } });
    if (rendered.kind === 'refused') return { name, refusals: [rendered], files: {}, env: {}, worldSize: 1 };
    const files = Object.fromEntries(rendered.files.map(({ path, text }) => [path, placed(text)]));
    return { name, refusals: [], files, env: rendered.env, worldSize: worldSize(spec.layout) };
  };
}

/** The one recipe of the release that reads nothing from a hub: GPT-3 of 175B, whose own overlap, chunks and sequence parallelism the layout leaves out. */
function withRecipes(question: Asks): readonly Question[] {
  const draft = aDraft();
  Object.assign(draft.model, { layers: 96, hiddenSize: 12_288, ffnHiddenSize: 49_152, attentionHeads: 96 });
  Object.assign(draft.model, { keyValueHeads: 96, headDim: 128, vocabularySize: 51_200, gatedMlp: false });
  Object.assign(draft.layout, { tensorParallelDegree: 8, pipelineParallelDegree: 8, dataParallelDegree: 2 });
  const recipe = 'megatron.bridge.recipes.gpt.gpt3_175b:gpt3_175b_pretrain_config';
  const spec = specOf(draft);
  const args = ['logger.log_throughput=true', 'model.init_method_std=0.01'];
  const resumed = ['--load', '/tmp/COXSWAIN_RESUME_ROOT', '--ckpt-step', '100'];
  const small = specOf(aDraft());
  return [
    { ...question('GPT-3 by its recipe', spec, { recipe, args }), args: [...args, ...resumed] },
    { ...question('a resumed job', small), args: resumed },
    { ...question('another model than that of its recipe', small, { recipe }), ends: /num_layers 96 instead of 8/ },
  ];
}

/** As the launcher writes them. */
function placed(text: string): string {
  return text.replaceAll(/\$(?:\$|\((\w+)\))/g, (_whole, name?: string) => (name === undefined ? '$' : `/tmp/${name}`));
}

function disagreement({ name, refusals, ends }: Question, verdict: Verdict | undefined): readonly string[] {
  if (refusals.length > 0) return [`${name}: refused here (${refusals.map(({ why }) => why).join('; ')})`];
  if (verdict === undefined) return [`${name}: no verdict`];
  if (ends !== undefined)
    return ends.test(verdict.why ?? '') ? [] : [`${name}: ended there with ${verdict.why ?? 'nothing'}`];
  if (verdict.why !== null) return [`${name}: rendered, and refused there: ${verdict.why}`];
  return verdict.changed.map((change) => `${name}: ${change}, without a word`);
}
