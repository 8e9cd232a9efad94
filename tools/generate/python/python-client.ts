import { CODE_LIMITS, HARMLESS_FILES, LIKELY_SECRETS, UNNEEDED_FOLDERS, WITHHELD_FILES } from '@coxswain/api-types';
import { openApiOfSources } from './openapi-of-sources.ts';
import type { Document } from './openapi.ts';
import { pythonOperations } from './python-operations.ts';
import { PythonTypes } from './python-types.ts';

const GENERATED = 'Written by `npm run generate` from the OpenAPI document of the API. Do not edit.';

/** Types and requests of the Python package, from the OpenAPI document. */
export function generatePythonClient(document = openApiOfSources() as Document): ReadonlyMap<string, string> {
  const types = new PythonTypes(document.components.schemas);
  const operations = pythonOperations(document, types);
  const folder = 'clients/python/coxswain';
  return new Map([
    [
      `${folder}/types.py`,
      types.module(
        `"""What the API takes and answers, as it is in JSON. ${GENERATED}"""\n\nfrom __future__ import annotations\n\nfrom typing import Any, Literal, TypedDict\n\nfrom typing_extensions import NotRequired, TypeAlias\n`,
      ),
    ],
    [
      `${folder}/operations.py`,
      `"""A function per operation of the API. ${GENERATED}"""\n\nfrom __future__ import annotations\n\nfrom typing import TYPE_CHECKING, Any, Literal\n\nfrom ._request import Request, quote\n\nif TYPE_CHECKING:\n    from . import types\n\n\n${operations}`,
    ],
    [`${folder}/_shipped_files.py`, shippedFiles()],
  ]);
}

/** Rules that both clients follow. A raw string of Python takes the patterns as they are. */
function shippedFiles(): string {
  return [
    '"""Limits of an archive, and files that no client ships or that it warns of.',
    '',
    'Written by `npm run generate` from libs/api-types/src. Do not edit.',
    '"""',
    '',
    `MAX_ARCHIVE_BYTES = ${CODE_LIMITS.archiveBytes}`,
    `MAX_UNPACKED_BYTES = ${CODE_LIMITS.unpackedBytes}`,
    `MAX_ENTRIES = ${CODE_LIMITS.entries}`,
    `UNNEEDED_FOLDERS = frozenset(${JSON.stringify(UNNEEDED_FOLDERS).replaceAll('",', '", ')})`,
    `WITHHELD_FILES = r"${WITHHELD_FILES}"`,
    `LIKELY_SECRETS = r"${LIKELY_SECRETS}"`,
    `HARMLESS_FILES = r"${HARMLESS_FILES}"`,
    '',
  ].join('\n');
}
