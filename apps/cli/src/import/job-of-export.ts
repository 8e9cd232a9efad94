/** The job that an exported file holds, with what a person edited in the file since. */
import { JobCreate } from '@coxswain/api-types';
import { parse } from 'yaml';
import type { ImportedJob } from '../job-import/imported-job.ts';
import { editedJob } from './edited-export.ts';
import { EXPORT_FORMS, EXPORTED_JOB, exportedJob, type ExportForm } from './exported-job.ts';

const KINDS: Readonly<Record<string, ExportForm>> = {
  JobSet: 'jobset',
  TrainJob: 'trainjob',
  PyTorchJob: 'pytorchjob',
};

/** With the edits of a person; undefined if it is no export, `changed` if it was edited in ways that the job has no field for. */
export function jobOfExport(text: string, document: unknown): ImportedJob | 'changed' | undefined {
  const ofScript = new RegExp(`^# ${EXPORTED_JOB}: (.*)$`, 'm').exec(text)?.[1];
  const { kind, metadata } = (document ?? {}) as {
    kind?: unknown;
    metadata?: { annotations?: Record<string, unknown> };
  };
  const ofObject = metadata?.annotations?.[EXPORTED_JOB];
  const held = ofScript ?? (typeof ofObject === 'string' ? ofObject : undefined);
  const form = ofScript === undefined ? KINDS[String(kind)] : EXPORT_FORMS.at(-1);
  if (held === undefined || form === undefined) return undefined;
  const job = jobIn(held);
  if (job === undefined) return 'changed';
  const again = exportAgain(job, form);
  if (again === undefined) return 'changed';
  const isSame = form === 'sbatch' ? again === text : holds(document, parse(again) as unknown);
  const { job: edited, edits } = (isSame ? undefined : editedJob(job, form, form === 'sbatch' ? text : document)) ?? {
    job,
    edits: [],
  };
  if (!isSame && edits.length === 0) return 'changed';
  const { namespace, ...rest } = edited;
  return {
    job: { ...rest, ...(namespace === undefined ? {} : { namespace }) },
    report: [
      { outcome: 'taken', from: 'the job that coxswain export wrote into the file', to: `name ${job.name}` },
      ...edits,
    ],
  };
}

function jobIn(text: string): JobCreate | undefined {
  try {
    const parsed = JobCreate.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** A release that renders otherwise makes another file; then its fields count. */
function exportAgain(job: JobCreate, form: ExportForm): string | undefined {
  try {
    return exportedJob(job, form);
  } catch {
    return undefined;
  }
}

/** Whether the value has all of the exported one; the API server adds defaults and a status. */
function holds(value: unknown, exported: unknown): boolean {
  if (Array.isArray(exported))
    return (
      Array.isArray(value) &&
      value.length === exported.length &&
      exported.every((one, index) => holds(value[index], one))
    );
  if (typeof exported !== 'object' || exported === null) return value === exported;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(exported).every(([key, inner]) => holds((value as Record<string, unknown>)[key], inner));
}
