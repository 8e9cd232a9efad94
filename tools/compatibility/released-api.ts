import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { openApiOfSources } from '../generate/python/openapi-of-sources.ts';
import { ROOT } from '../images/image-names.ts';
import { definitionChanges, type ComparedDefinition } from './definition-changes.ts';
import { openApiChanges, type ComparedDocument } from './openapi-changes.ts';

/** What programs and job files depend on. */
export interface Api {
  readonly definitions: readonly ComparedDefinition[];
  readonly openApi: ComparedDocument;
}

const FOLDER = 'tools/compatibility/released';
/** The API of the last release, without descriptions, as {@link recordedApi} writes it. */
export const RELEASED = {
  release: `${FOLDER}/release.json`,
  definitions: `${FOLDER}/definitions.generated.json`,
  openApi: `${FOLDER}/openapi.generated.json`,
} as const;
/** Breaking differences that are meant, with the reason for each. */
export const ACCEPTED = `${FOLDER}/accepted-changes.json`;

const AcceptedChange = z.strictObject({ change: z.string(), reason: z.string().min(20) });
/** A breaking difference that is meant. */
export type AcceptedChange = z.infer<typeof AcceptedChange>;

/** Differences of `now` to the last release that break users. */
export function changesSinceRelease(now: Api): readonly string[] {
  const before: Api = { definitions: readJson(RELEASED.definitions), openApi: readJson(RELEASED.openApi) };
  return [...definitionChanges(before.definitions, now.definitions), ...openApiChanges(before.openApi, now.openApi)];
}

/** What the definitions of the chart and the sources of the API say now. */
export function apiOfSources(): Api {
  return { definitions: definitionsOfChart(), openApi: openApiOfSources() as ComparedDocument };
}

/** Definitions of the chart. */
export function definitionsOfChart(): readonly ComparedDefinition[] {
  return globSync('charts/coxswain/definitions/*.yaml', { cwd: ROOT })
    .sort()
    .map((path) => parse(readFileSync(join(ROOT, path), 'utf8')) as ComparedDefinition);
}

/** What {@link ACCEPTED} lists. Throws a ZodError. */
export function acceptedChanges(): readonly AcceptedChange[] {
  return z.array(AcceptedChange).parse(readJson(ACCEPTED));
}

/** Breaking differences without a reason, and reasons for differences that do not exist. */
export function unexplained(changes: readonly string[], accepted: readonly AcceptedChange[]): readonly string[] {
  const meant = new Set(accepted.map(({ change }) => change));
  return [
    ...changes.filter((change) => !meant.has(change)),
    ...accepted
      .filter(({ change }) => !changes.includes(change))
      .map(({ change }) => `${ACCEPTED} lists a difference that does not exist: ${change}`),
  ];
}

/** Texts of the files {@link RELEASED} for an API. */
export function recordedApi({ definitions, openApi }: Api, release: string): ReadonlyMap<string, string> {
  return new Map([
    [RELEASED.release, `${JSON.stringify({ release }, null, 2)}\n`],
    [RELEASED.definitions, `${JSON.stringify(withoutWords(definitions))}\n`],
    [RELEASED.openApi, `${JSON.stringify(withoutWords(openApi))}\n`],
    [ACCEPTED, '[]\n'],
  ]);
}

const WORDS = new Set([
  'description',
  'summary',
  'title',
  'example',
  'examples',
  'additionalPrinterColumns',
  'externalDocs',
]);

/** Without what people read; a field may have the name of such a keyword. */
function withoutWords(value: unknown, isMapOfFields = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutWords(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => isMapOfFields || !WORDS.has(key));
  return Object.fromEntries(
    kept.map(([key, item]) => [key, withoutWords(item, key === 'properties' && !isMapOfFields)]),
  );
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as T;
}
