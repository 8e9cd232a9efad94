import { brokenSchemaRule, ModelShape, withDefaultSizes } from '@coxswain/layout';
import { isHubName, modelFromHuggingFace, modelOf } from '@coxswain/planner/presets';
import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { z } from 'zod';
import { CliError } from '../cli-error.ts';
import { readDocument } from '../files/read-document.ts';

/** A model as a plan request names it. */
export interface PlannedModel {
  readonly model?: string;
  readonly modelShape?: ModelShape;
  /** The configuration that modelShape was read from, as it stands in its file. */
  readonly huggingFace?: Readonly<Record<string, unknown>>;
  /** What its file left open. */
  readonly assumed: readonly string[];
}

/**
 * The model that `--model` means: a file (a Hugging Face `config.json`, or a shape in YAML or JSON), else the name of a preset.
 * Throws a {@link CliError} or DomainError that names the nearest presets, or the key that a file lacks.
 */
export function plannedModel(nameOrFile: string): PlannedModel {
  if (!isFile(nameOrFile)) return { model: modelOf(nameOrFile).name, assumed: [] };
  const document = readDocument(nameOrFile);
  if (isObject(document) && ('model_type' in document || 'text_config' in document)) {
    const { model, assumed } = modelFromHuggingFace(document);
    const name = document['_name_or_path'] === undefined ? nameOfFile(nameOrFile) : model.name;
    return { modelShape: { ...model, name }, huggingFace: document, assumed };
  }
  const shape = ModelShape.safeParse(isObject(document) ? withDefaultSizes(document) : document, { reportInput: true });
  if (!shape.success)
    throw new CliError(
      `${nameOrFile} is neither a Hugging Face config.json (it names no model_type) nor a model shape:\n${shape.error.issues.map(sentenceOf).join('\n')}`,
    );
  return { modelShape: { ...shape.data, name: shape.data.name ?? nameOfFile(nameOrFile) }, assumed: [] };
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  const path = issue.path.join('.');
  return `  ${path === '' ? '' : `${path}: `}${brokenSchemaRule(issue)}`;
}

function isFile(text: string): boolean {
  if (existsSync(text)) return true;
  return !isHubName(text) && (/\.(json|ya?ml)$/i.test(text) || text.includes('/'));
}

/** A `config.json` is called after the directory of its weights. */
function nameOfFile(path: string): string {
  const file = basename(path).replace(/\.(json|ya?ml)$/i, '');
  const directory = basename(dirname(path));
  return file === 'config' && directory !== '.' && directory !== '' ? directory : file;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
