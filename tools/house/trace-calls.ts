/**
 * Loaded into a program with `--import`: writes down which named functions of the repository are entered, in the order of their first calls, a line
 * `path function` each, into the file COXSWAIN_TRACE. Source text is changed as it is loaded, by a call at the start of each body.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { namedFunctions, parse } from './functions.ts';

const { COXSWAIN_TRACE: target, COXSWAIN_TRACED_ROOT: root } = process.env;
const own = fileURLToPath(new URL('.', import.meta.url));

if (target !== undefined && root !== undefined) {
  const seen = new Set<string>();
  Object.assign(globalThis, {
    __enter(line: string) {
      if (!seen.has(line) && !isImportBeingEvaluated()) {
        seen.add(line);
        appendFileSync(target, `${line}\n`);
      }
    },
  });
  registerHooks({
    load(url, context, nextLoad) {
      const path = url.startsWith('file:') ? fileURLToPath(url) : '';
      const isOurs = path.startsWith(`${root}/`) && !path.includes('/node_modules/') && !path.startsWith(own);
      if (!isOurs || !path.endsWith('.ts')) return nextLoad(url, context);
      const { format } = nextLoad(url, context);
      return { format, source: traced(path.slice(root.length + 1), readFileSync(path, 'utf8')), shortCircuit: true };
    },
  });
}

/** Whether a call is made while a module is imported, such as filling a table. Such calls do not count; those of the program itself, or of a thread, do. */
function isImportBeingEvaluated(): boolean {
  Error.stackTraceLimit = 200;
  const frames = (new Error().stack ?? '').split('\n');
  const evaluation = frames.findIndex((frame) => /^ +at ModuleJob\.run /.test(frame));
  return evaluation !== -1 && frames[evaluation - 1]?.includes(process.argv[1] ?? '') !== true;
}

/** Where in a text, and what. */
type Insertion = readonly [number, string];

/** The text with a call at the start of each named function's body; on the same line, so that line numbers stay. */
function traced(path: string, text: string): string {
  const insertions = namedFunctions(parse({ path, text })).flatMap(
    ({ name, body: { start, end, isBlock } }): Insertion[] => {
      const call = `__enter(${JSON.stringify(`${path} ${name}`)})`;
      return isBlock
        ? [[start + 1, `${call};`]]
        : [
            [start, `(${call},`],
            [end, ')'],
          ];
    },
  );
  return insertions
    .sort(([a], [b]) => b - a)
    .reduce((changed, [at, inserted]) => changed.slice(0, at) + inserted + changed.slice(at), text);
}
