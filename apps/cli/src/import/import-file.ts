/** What is in a file, known by its content and not by its name, and the job that it describes. */
import { parseAllDocuments } from 'yaml';
import { flatSettings, importConfiguration, isToml, tomlSettings } from '../job-import/config-file.ts';
import { ImportError } from '../job-import/import-error.ts';
import { importJob, RECOGNISED } from '../job-import/import-job.ts';
import type { ImportedJob } from '../job-import/imported-job.ts';
import type { LaunchOptions } from '../job-import/launched-job.ts';
import type { ReportLine } from '../job-import/import-report.ts';
import { importBatchScript, isBatchScript } from '../job-import/sbatch.ts';
import { isPython, PYTHON_INSTEAD } from '../files/kind-of-text.ts';
import { EXPORTED_JOB } from './exported-job.ts';
import { jobOfExport } from './job-of-export.ts';

/** Imports a file. Throws an {@link ImportError} that lists what is recognised if the file is something else. */
export function importFile(text: string, options: LaunchOptions = {}): ImportedJob {
  if (text.trim() === '') throw new ImportError(`The file is empty; expected ${RECOGNISED}.`);
  const { name, image, nodes, gpusPerNode } = options;
  const isAsWritten = [name, image, nodes, gpusPerNode].every((option) => option === undefined);
  const exported = isAsWritten && text.includes(EXPORTED_JOB) ? jobOfExport(text, exportedDocument(text)) : undefined;
  if (typeof exported === 'object') return exported;
  const imported = importOther(text, options);
  return exported === undefined ? imported : { ...imported, report: [...imported.report, CHANGED] };
}

/** A line for a file that was edited since its export. */
const CHANGED: ReportLine = {
  outcome: 'left',
  from: 'the job that coxswain export wrote into the file',
  why: 'the file was changed since, so its fields count',
};

function exportedDocument(text: string): unknown {
  const [document] = isBatchScript(text) ? [] : documentsOf(text);
  return document;
}

function importOther(text: string, options: LaunchOptions): ImportedJob {
  if (isBatchScript(text)) return importBatchScript(text, options);
  if (isHelmTemplate(text))
    throw new ImportError(
      'It is a template of Helm, not an object of Kubernetes. Render it first: helm template CHART -f values.yaml | coxswain import -',
    );
  if (/^#!/.test(text))
    throw new ImportError(
      `It is a script that starts no ranks by a launcher that is known. Give the line that starts them to --torchrun. Recognised: ${RECOGNISED}.`,
    );
  if (isPython(text)) throw new ImportError(`It is a program in Python, not a job. ${PYTHON_INSTEAD}`);
  if (isToml(text)) return configured(tomlSettings(text), options);
  const documents = documentsOf(text);
  const [document] = documents;
  if (documents.length === 1 && !isObject(document)) {
    const imported = importConfiguration(flatSettings(document), options);
    if (imported !== undefined) return imported;
  }
  refuseUnset(documents);
  const { name, image } = options;
  return importJob(documents, { ...(name === undefined ? {} : { name }), ...(image === undefined ? {} : { image }) });
}

/** `$NAME` where no shell would read it: the manifest is a template of envsubst, and its variables are not replaced yet. */
function refuseUnset(documents: readonly unknown[]): void {
  const names = [...new Set(documents.filter(isObject).flatMap((document) => unsetIn(document, new Set())))];
  if (names.length === 0) return;
  const set = names.map((name) => `${name}=VALUE`).join(' ');
  throw new ImportError(
    `It is a template of a shell: ${names.join(', ')} ${names.length === 1 ? 'has' : 'have'} no value yet. Set ${names.length === 1 ? 'it' : 'them'} first: ${set} envsubst '${names.map((name) => `$${name}`).join(' ')}' < FILE | coxswain import -`,
  );
}

/** Fields that a shell of the pod reads keep their variables. */
const READ_BY_PROGRAMS = new Set(['command', 'args', 'env', 'data', 'stringData', 'annotations', 'labels']);

/** Anchors of YAML can lead in a circle, so each value is looked at once. */
function unsetIn(value: unknown, seen: Set<unknown>): readonly string[] {
  if (typeof value === 'string') {
    const [, name] = /^[\w./:@-]*\$\{?([A-Za-z_]\w*)\}?[\w./:@-]*$/.exec(value) ?? [];
    return name === undefined ? [] : [name];
  }
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  if (Array.isArray(value)) return value.flatMap((inner) => unsetIn(inner, seen));
  return Object.entries(value).flatMap(([key, inner]) => (READ_BY_PROGRAMS.has(key) ? [] : unsetIn(inner, seen)));
}

function configured(settings: Readonly<Record<string, string>>, options: LaunchOptions): ImportedJob {
  const imported = importConfiguration(settings, options);
  if (imported === undefined) throw new ImportError(`It is TOML that is not known. Recognised: ${RECOGNISED}.`);
  return imported;
}

/** Actions of a template. In quotes they would be YAML, so the text decides and not the parser. */
function isHelmTemplate(text: string): boolean {
  return /\{\{-?\s*(?:\.(?:Values|Release|Chart|Files|Capabilities)\b|(?:if|range|with|include|define|template|end|else|toYaml|tpl|printf)\b|\$\w*|\/\*)/.test(
    text,
  );
}

function isObject(document: unknown): boolean {
  return typeof document === 'object' && document !== null && 'apiVersion' in document && 'kind' in document;
}

function documentsOf(text: string): readonly unknown[] {
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return [];
  const wrong = documents.flatMap(({ errors }) => errors)[0];
  if (wrong !== undefined)
    throw new ImportError(`It is neither YAML, JSON nor TOML: ${wrong.message}\nRecognised: ${RECOGNISED}.`);
  try {
    return documents.map((document) => document.toJS() as unknown);
  } catch (error) {
    throw new ImportError(`It cannot be read: ${(error as Error).message}`);
  }
}
