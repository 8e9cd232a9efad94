import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

let made: unknown;

/** The document that the API serves. A process of its own reads the sources once, because Node does not know their decorators. */
export function openApiOfSources(): unknown {
  made ??= make();
  return made;
}

function make(): unknown {
  const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', new URL('nest-sources.mjs', import.meta.url).href, here('print-openapi.ts')],
    { encoding: 'utf8', maxBuffer: 64e6 },
  );
  if (status !== 0) throw new Error(`the OpenAPI document could not be made: ${stderr}`);
  return JSON.parse(stdout);
}
