/** Trains what Coxswain rendered on CPU ranks of this machine, as a launcher would start it. */
import { POD_PATHS, RANK_ENV, type RenderingRequest, replaceReferences } from '@coxswain/api-types';
import { renderRequest } from '@coxswain/engines';
import { worldSize } from '@coxswain/layout';
import { findEnginePython, lookUpUpstreamPython, torchExtensionsDirectory } from '@coxswain/local-cluster';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lossesIn, runProgram } from '../reshard-training/training.ts';

const ROOT = join(import.meta.dirname, '../..');
const MODULES = ['engines/reference', 'engines/agent', 'engines/torchtitan-cpu', 'engines/systems'];
const TAIL_CHARACTERS = 3000;

/** What a training printed. */
export interface Trained {
  readonly losses: ReadonlyMap<number, number>;
  readonly output: string;
}

/** Trains on as many ranks as the layout has. Throws if it is refused, or does not end well. */
export async function trainRendered(
  request: RenderingRequest,
  folder: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<Trained> {
  const { program, refusal } = renderRequest(request);
  if (program === null) throw new Error(`${refusal?.why ?? ''}; ${refusal?.fallback ?? ''}`);
  const files = join(folder, 'files');
  const variables: NodeJS.ProcessEnv = {
    [RANK_ENV.engineFiles]: files,
    [RANK_ENV.saveDirectory]: join(folder, 'saves'),
    [RANK_ENV.incarnation]: '1',
  };
  const filled = (text: string): string =>
    replaceReferences(text, (name) => variables[name]).replaceAll(POD_PATHS.data, join(ROOT, 'examples/data'));
  mkdirSync(join(folder, 'saves'), { recursive: true });
  for (const { path, text } of program.files) {
    mkdirSync(dirname(join(files, path)), { recursive: true });
    writeFileSync(join(files, path), filled(text));
  }
  const python =
    request.engine.name === 'reference' ? findEnginePython() : (lookUpUpstreamPython() ?? findEnginePython());
  const torchrun = ['-m', 'torch.distributed.run', '--nproc-per-node', String(worldSize(request.layout))];
  const rendezvous = ['--rdzv-backend', 'c10d', '--rdzv-endpoint', 'localhost:0'];
  // The first word is the Python of the image.
  const words = program.argv.slice(1).map((word) => (word.startsWith('engines/') ? join(ROOT, word) : filled(word)));
  const { code, output } = await runProgram([python, ...torchrun, ...rendezvous, ...words], {
    ...Object.fromEntries(program.env.map(({ name, value }) => [name, filled(value)])),
    ...variables,
    PYTHONPATH: [...MODULES.map((module) => join(ROOT, module)), files].join(':'),
    PATH: `${dirname(python)}:${process.env['PATH'] ?? ''}`,
    DS_ACCELERATOR: 'cpu',
    TORCH_EXTENSIONS_DIR: torchExtensionsDirectory(),
    ...environment,
  });
  if (code !== 0) throw new Error(`it ended with code ${String(code)}:\n${output.slice(-TAIL_CHARACTERS)}`);
  return { losses: lossesIn(output), output };
}
