import { dirname } from 'node:path';
import { command } from './command.ts';

/** A folder, or one file of it, of this machine that engines' containers see at its own path. */
export interface HostFolder {
  readonly path: string;
  /** File below it, where the rest must not be seen. */
  readonly file?: string;
}

/** Where the Python of the engines lies on this machine. */
export interface PythonPlaces {
  /** `sys.base_prefix`: where the interpreter and its library lie. */
  readonly basePrefix: string;
  /** `sys.prefix`: of the environment with PyTorch. */
  readonly prefix: string;
  /** Such as `python3.11`. */
  readonly name: string;
}

/** Where the Python of `npm run setup` keeps what an engine needs. */
export async function pythonPlaces(python: string): Promise<PythonPlaces> {
  const question = 'import sys; print(sys.base_prefix); print(sys.prefix); print("python%d.%d" % sys.version_info[:2])';
  const [basePrefix = '', prefix = '', name = ''] = (await command(python, ['-c', question])).split('\n');
  return { basePrefix, prefix, name };
}

/** What of this machine a container needs to run that Python. All of a prefix of its own; of /usr only what is Python's. */
export function pythonFolders({ basePrefix, prefix, name }: PythonPlaces): readonly HostFolder[] {
  const base =
    basePrefix === '/usr'
      ? [{ path: `/usr/lib/${name}` }, { path: '/usr/bin', file: name }, { path: '/usr/bin', file: 'python3' }]
      : [{ path: basePrefix }];
  return [...base, { path: prefix }];
}

/** PATH of a rank: that Python before the image's own. */
export function pythonPath({ prefix }: PythonPlaces): string {
  return [`${prefix}/bin`, '/usr/local/bin', '/usr/bin', '/bin'].join(':');
}

/** The folder that a volume has to be of. */
export function volumeFolder({ path, file }: HostFolder): string {
  return file === undefined ? path : dirname(`${path}/${file}`);
}
