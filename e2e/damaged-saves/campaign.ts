/** Real engines whose newest save is damaged; started by `npm run campaign -- damaged-saves`. */
import { startSystem, type CoxswainSystem } from '@coxswain/local-cluster';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createProject, type TestProject } from '../support/project.ts';
import { disagreements } from './agreement.ts';
import { type Damage, DAMAGES } from './damages.ts';
import { DamagedRun } from './damaged-run.ts';
import { DAMAGED_ENGINES, type DamagedEngine } from './engines.ts';
import { writeSection } from './page.ts';
import { checkpointCommand, type Loaded, loadSaves } from './programs.ts';
import { describeRows, type Row } from './table.ts';

/** Every damage of an engine's save as others see it, on copies. */
async function lookAtCopies(
  run: DamagedRun,
  engine: DamagedEngine,
  damages: readonly Damage[],
): Promise<readonly Row[]> {
  const { newest, before } = await run.newestSaves();
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-damaged-'));
  try {
    const sound = run.directoryOf(newest);
    const copies = damages.map((damage, index) => {
      const save = join(folder, String(index), basename(sound));
      cpSync(sound, save, { recursive: true, preserveTimestamps: true });
      damage.apply({ save, before: run.directoryOf(before), parts: engine.parts });
      return { damage, save };
    });
    const [loaded, ...others] = await loadSaves(engine, [sound, ...copies.map(({ save }) => save)]);
    if (loaded === undefined) throw new Error(`the library of ${engine.name} answers nothing`);
    const complaints = disagreements(engine, {
      record: await run.verified(newest),
      shown: await checkpointCommand(['show', sound]),
      loaded,
    });
    const rows: Row[] = [
      { engine: engine.name, damage: 'none', levels: await levelsOf(sound), library: wordOf(loaded), complaints },
    ];
    for (const [index, { damage, save }] of copies.entries()) {
      const levels = await levelsOf(save);
      const withoutManifest = await levelsOf(save, { withoutManifest: true });
      rows.push({
        engine: engine.name,
        damage: damage.name,
        levels,
        withoutManifest,
        library: wordOf(others[index], loaded),
        complaints: isFound(levels) ? [] : ['verify does not find it at any level'],
      });
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const LEVELS = ['V0', 'V1', 'V2', 'V3'] as const;

/** The verdict of each level. */
async function levelsOf(save: string, { withoutManifest = false } = {}): Promise<Row['levels']> {
  if (withoutManifest) rmSync(join(save, 'manifest.json'));
  const said = await Promise.all(LEVELS.map((level) => checkpointCommand(['verify', save, '--level', level])));
  return said.map(({ verdict, findings, exitCode }, index) => ({
    level: LEVELS[index] ?? 'V3',
    verdict,
    exitCode,
    finding: findings.find(({ kind }) => kind === verdict)?.sentence,
  }));
}

function isFound(levels: Row['levels']): boolean {
  return levels.some(({ exitCode }) => exitCode === 1);
}

/** What the library makes of a save: refuses it, loads other figures, or loads the same. */
function wordOf(loaded: Loaded | undefined, sound?: Loaded): string {
  if (loaded === undefined) return 'gives no answer';
  if (loaded.error !== undefined) return `refuses (${loaded.error.split(':')[0] ?? ''})`;
  if (sound === undefined) return 'loads';
  return JSON.stringify({ ...loaded, directory: '' }) === JSON.stringify({ ...sound, directory: '' })
    ? 'loads'
    : 'loads other numbers';
}

async function damageAll(
  system: CoxswainSystem,
  project: TestProject,
  engine: DamagedEngine,
  damages: readonly Damage[],
): Promise<readonly Row[]> {
  const run = await DamagedRun.start(system, project, engine);
  say(`${engine.name}: trained until there were three saves`);
  const rows: Row[] = [];
  for (const row of await lookAtCopies(run, engine, damages)) {
    const damage = damages.find(({ name }) => name === row.damage);
    const restart = damage === undefined ? undefined : await run.restartAfter(damage);
    const all = [...row.complaints, ...(restart?.complaints ?? [])];
    const done: Row = { ...row, ...(restart === undefined ? {} : { restart }), complaints: all };
    say(describeRows([done]));
    rows.push(done);
  }
  return rows;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Whether every engine whose name is given, or every one, was described, verified and resumed right. */
async function main(names: readonly string[]): Promise<boolean> {
  const wanted = DAMAGED_ENGINES.filter(({ name }) => names.length === 0 || names.includes(name));
  const words = names.filter((name) => !DAMAGED_ENGINES.some((engine) => engine.name === name));
  const damages = DAMAGES.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  const engines = wanted.length === 0 ? DAMAGED_ENGINES : wanted;
  const system = await startSystem();
  let complaints = 0;
  try {
    const project = await createProject(system, 'damaged-saves');
    for (const engine of engines) {
      const rows = await damageAll(system, project, engine, damages);
      complaints += rows.flatMap((row) => row.complaints).length;
      if (damages.length === DAMAGES.length) writeSection(engine.name, rows);
    }
  } finally {
    await system.stop({ keepLogs: complaints > 0 });
  }
  return complaints === 0;
}

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
