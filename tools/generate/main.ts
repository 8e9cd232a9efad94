/** `npm run generate`: writes everything that is generated from the zod declarations; `--check` only says what has drifted. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  ACCEPTED,
  acceptedChanges,
  apiOfSources,
  changesSinceRelease,
  unexplained,
} from '../compatibility/released-api.ts';
import { generateAccessPage } from './access.ts';
import { generateChartReadme } from './chart-values.ts';
import { generateControllerBugs } from './controller-bugs.ts';
import { generateCrds } from './crds.ts';
import { generateEnginePrograms } from './engine-programs.ts';
import { generateEnginePage } from './engines.ts';
import { generateFabricLabels } from './fabric-labels.ts';
import { generateGraphqlSchema } from './graphql.ts';
import { generateHookFiles } from './hook-files.ts';
import { generateJobFields } from './job-fields.ts';
import { generateLayoutPages } from './layouts.ts';
import { generateMetricsPage } from './metrics.ts';
import { generateCalibratePrograms } from './calibrate-programs.ts';
import { generatePreflightProgram } from './preflight-program.ts';
import { generatePythonClient } from './python/python-client.ts';
import { generateReference } from './reference.ts';

const root = resolve(import.meta.dirname, '../..');

/** Path → content of every generated file. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ...generateCrds(),
    ...generateReference(),
    ...generateJobFields(),
    ...generateLayoutPages(),
    ...generateEnginePage(),
    ...generateFabricLabels(),
    ...generateControllerBugs(),
    ...generateAccessPage(),
    ...generateChartReadme(),
    ...generateMetricsPage(),
    ...generateCalibratePrograms(),
    ...generatePreflightProgram(),
    ...generateEnginePrograms(),
    ...generateHookFiles(),
    ...generatePythonClient(),
    ['apps/api/src/graphql/schema.generated.graphql', generateGraphqlSchema()],
  ]);
}

/** Paths whose committed content differs from what would be generated now. */
export function driftedFiles(files = generatedFiles()): readonly string[] {
  const drifted: string[] = [];
  for (const [path, content] of files) {
    const absolute = resolve(root, path);
    if (!existsSync(absolute) || readFileSync(absolute, 'utf8') !== content) drifted.push(path);
  }
  return drifted;
}

if (import.meta.main) {
  const files = generatedFiles();
  const drifted = driftedFiles(files);
  if (process.argv.includes('--check')) {
    if (drifted.length > 0) {
      console.error(
        `Generated files are out of date: ${drifted.join(', ')}. Run \`npm run generate\` and commit the result.`,
      );
      process.exit(1);
    }
    console.log('Generated files are up to date.');
    const broken = unexplained(changesSinceRelease(apiOfSources()), acceptedChanges());
    if (broken.length > 0) {
      console.error(
        `These changes break users of the last release:\n  ${broken.join('\n  ')}\nUndo each, or list it with a reason in ${ACCEPTED} (docs/reference/api-versions.md).`,
      );
      process.exit(1);
    }
  } else {
    for (const path of drifted) {
      const absolute = resolve(root, path);
      mkdirSync(dirname(absolute), { recursive: true });
      writeFileSync(absolute, files.get(path) ?? '');
      console.log(`wrote ${path}`);
    }
    if (drifted.length === 0) console.log('Nothing to write.');
  }
}
