/** The file of `accelerate launch --config_file`, if it lies beside the script: its settings become variables and numbers of processes. */
import { accelerateVariables } from './accelerate.ts';
import { accelerateFile } from './config-file.ts';
import type { ReportLine } from './import-report.ts';
import type { RankProgram } from './program.ts';
import { literal } from './torchrun.ts';

const OPTION = '--config_file ';

/** The program with what its launcher reads from the file, and lines about the file. An option of the launcher goes before a setting. */
export function withLaunchFile(
  program: RankProgram,
  readBeside: ((path: string) => unknown) | undefined,
): { readonly program: RankProgram; readonly lines: readonly ReportLine[] } {
  const note = program.notes.find(({ from }) => from.startsWith(OPTION));
  const path = note?.from.slice(OPTION.length) ?? '';
  const file = /\.(?:ya?ml|json)$/.test(path) ? accelerateFile(readBeside?.(path)) : undefined;
  if (note === undefined || file === undefined) return { program, lines: [] };
  const { settings, lines } = file;
  const { launcher } = program;
  const count = (name: string): { readonly [P in 'nodes' | 'processes']?: ReturnType<typeof literal> } => {
    const value = settings[name];
    const field = name === 'num_machines' ? 'nodes' : 'processes';
    return value === undefined || launcher?.[field] !== undefined ? {} : { [field]: literal(value) };
  };
  return {
    program: {
      ...program,
      env: [...accelerateVariables(settings), ...program.env],
      notes: program.notes.filter((one) => one !== note),
      ...(launcher === undefined
        ? {}
        : { launcher: { ...launcher, ...count('num_machines'), ...count('num_processes') } }),
    },
    lines: [
      {
        outcome: 'changed',
        from: note.from,
        to: 'engine.env, layout',
        why: 'accelerate launch turns this file into variables, and the job has them; the program itself does not read it',
      },
      ...lines,
    ],
  };
}
