import type { JobCreate } from '@coxswain/api-types';
import { formatBytes, formatCount } from '@coxswain/units';
import { CliError } from '../cli-error.ts';
import type { ProjectJobs } from '../session/project-jobs.ts';
import { type PackedWorkdir, packWorkdir } from './pack-workdir.ts';

/** The job with the code of the directory, and its archive. Nothing is sent yet. */
export function withWorkdir(
  job: JobCreate,
  directory: string,
  warn: (line: string) => void,
): { readonly body: JobCreate; readonly packed: PackedWorkdir } {
  if (job.spec.code !== undefined)
    throw new CliError('The job names code.sha256 already. Leave it out of the file, or leave --workdir out.');
  const packed = packWorkdir(directory);
  if (packed.withheld.length > 0)
    warn(
      `Left out: ${packed.withheld.join(', ')}. Credentials of a person are never shipped; a job gets its own by secretEnv or secretFiles.`,
    );
  if (packed.secrets.length > 0)
    warn(
      `Warning: ${packed.secrets.join(', ')} ${packed.secrets.length === 1 ? 'looks' : 'look'} like a secret, and everyone who can read pods of the project can read it. Add it to .gitignore, and use secretEnv or secretFiles.`,
    );
  return { body: { ...job, spec: { ...job.spec, code: { sha256: packed.sha256 } } }, packed };
}

/** Uploads the archive, unless the project has it. Returns what happened, in one line. */
export async function uploadWorkdir(
  { api, project }: ProjectJobs,
  { packed, namespace }: { readonly packed: PackedWorkdir; readonly namespace: string | undefined },
): Promise<string> {
  const { sha256, bytes, files } = packed;
  const what = `${formatCount(files, 'file')}, ${formatBytes(bytes.length)}, SHA-256 ${sha256.slice(0, 12)}`;
  if ((await api.code({ project, sha256, namespace })) !== undefined) return `Code is unchanged (${what}).`;
  await api.uploadCode({ project, sha256, namespace }, bytes);
  return `Uploaded code (${what}).`;
}
