/** Trains layouts of published systems on CPU ranks and on one rank; started by `npm run campaign -- seed-systems`. */
import { RANK_ENV, type RenderingRequest } from '@coxswain/api-types';
import { renderRequest } from '@coxswain/engines';
import { worldSize } from '@coxswain/layout';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TRAINED_RECORD, trainedRows, type TrainedRow } from '../../tools/generate/trained-systems.ts';
import {
  CASES,
  changesOf,
  firstLayout,
  oneRank,
  renderingOf,
  STEPS,
  trainedLayout,
  type TrainedCase,
} from './cases.ts';
import { trainRendered, type Trained } from './run.ts';

/** How far the loss has to fall for the comparison to mean something. */
const LEAST_FALL = 0.1;

const folder = mkdtempSync(join(tmpdir(), 'coxswain-seed-systems-'));
const baselines = new Map<string, Promise<Trained>>();
const seeds = new Map<string, Promise<string>>();

/** Where the first weights of TorchTitan are, which one rank makes for each model. */
function seedOf(one: TrainedCase): Promise<string> {
  const key = JSON.stringify(one.model);
  const known = seeds.get(key);
  if (known !== undefined) return known;
  const place = join(folder, `seed-${String(seeds.size)}`);
  const made = trainRendered(renderingOf(one, oneRank(trainedLayout(one))), place, { SEED_CHECKPOINT: 'make' });
  const path = made.then(() => join(place, 'saves/checkpoint/step-0'));
  seeds.set(key, path);
  return path;
}

async function environmentOf(one: TrainedCase): Promise<NodeJS.ProcessEnv> {
  return one.engine === 'torchtitan' ? { SEED_CHECKPOINT: await seedOf(one) } : {};
}

/** The same training on one rank; cases that are the same there share it. */
async function baselineOf(one: TrainedCase): Promise<Trained> {
  const request = renderingOf(one, oneRank(trainedLayout(one)));
  const key = JSON.stringify(request);
  const environment = await environmentOf(one);
  const known =
    baselines.get(key) ?? trainRendered(request, join(folder, `one-${String(baselines.size)}`), environment);
  baselines.set(key, known);
  return known;
}

/** On the ranks of the layout; of a case that is saved, on those of its first layout before. */
async function trainTogether(one: TrainedCase, request: RenderingRequest, place: string): Promise<Trained> {
  const first = firstLayout(one);
  const environment = await environmentOf(one);
  if (first === undefined) return trainRendered(request, place, environment);
  const half = STEPS / 2;
  const before = await trainRendered(renderingOf(one, first, half), join(place, 'first'), environment);
  const save = join(place, 'first/saves', `step-${String(half).padStart(8, '0')}`);
  const after = await trainRendered(request, join(place, 'second'), { ...environment, [RANK_ENV.resumeFrom]: save });
  return { losses: new Map([...before.losses, ...after.losses]), output: before.output + after.output };
}

async function runCase(one: TrainedCase, index: number): Promise<TrainedRow> {
  const layout = trainedLayout(one);
  const first = firstLayout(one);
  const request = renderingOf(one, layout);
  const { program } = renderRequest(request);
  if (program === null) throw new Error('it is not rendered');
  const alone = await baselineOf(one);
  const together = await trainTogether(one, request, join(folder, `case-${String(index)}`));
  if (!one.evidence.test(`${program.argv.join(' ')}\n${together.output}`))
    throw new Error(`its output has no ${String(one.evidence)}`);
  const steps = [...alone.losses.keys()].filter((step) => together.losses.has(step));
  const lossOf = ({ losses }: Trained, step: number): number => losses.get(step) ?? NaN;
  const largestDifference = Math.max(...steps.map((step) => Math.abs(lossOf(alone, step) - lossOf(together, step))));
  const losses: [number, number] = [lossOf(alone, 1), lossOf(alone, STEPS)];
  if (steps.length !== STEPS) throw new Error(`both trained the steps ${steps.join()}`);
  if (!(losses[0] - losses[1] > LEAST_FALL)) throw new Error(`its loss falls from ${losses.join(' to ')} alone`);
  if (!(largestDifference <= one.tolerance)) throw new Error(`its losses differ by ${String(largestDifference)}`);
  return {
    file: one.file,
    ...(one.role === undefined ? {} : { role: one.role }),
    engine: one.engine,
    version: program.release ?? one.version ?? '',
    layout,
    ...(first === undefined ? {} : { savedAt: first }),
    axes: [...one.axes],
    ranks: worldSize(layout),
    steps: steps.length,
    changes: [...changesOf(one)],
    losses,
    largestDifference,
    tolerance: one.tolerance,
    command: program.argv,
    measured: new Date().toISOString().slice(0, 10),
  };
}

const words = process.argv.slice(2);
const chosen = CASES.filter(
  ({ file, engine }) => words.length === 0 || words.some((word) => `${file} ${engine}`.includes(word)),
);
const rows: TrainedRow[] = [];
let failed = 0;
try {
  for (const [index, one] of chosen.entries()) {
    const started = Date.now();
    const title = `${one.file} on ${one.engine}`;
    try {
      const row = await runCase(one, index);
      rows.push(row);
      const seconds = Math.round((Date.now() - started) / 1000);
      process.stdout.write(
        `✓ ${title}, ${row.ranks} ranks: loss ${row.losses.join(' to ')}, difference ${row.largestDifference.toExponential(1)} (${seconds} s)\n`,
      );
    } catch (error) {
      failed += 1;
      process.stdout.write(`✗ ${title}: ${error instanceof Error ? error.message : String(error)}\n`);
    }
    const renewed = new Set(rows.map(({ file }) => file));
    const all = [...trainedRows().filter(({ file }) => !renewed.has(file)), ...rows];
    all.sort((a, b) => a.file.localeCompare(b.file));
    writeFileSync(TRAINED_RECORD, `${JSON.stringify(all, undefined, 2)}\n`);
  }
} finally {
  if (process.env['KEEP_SEED_SYSTEMS'] === undefined) rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed === 0 && chosen.length > 0 ? 0 : 1;
