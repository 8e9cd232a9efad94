import { safeText, parseForeignJson } from '@coxswain/safe-text';
import { MIB_BYTES } from '@coxswain/units';
import { createReadStream } from 'node:fs';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';

/** A file of `kubectl get -o json` becomes about six times as large in memory; 256 MiB are 15,000 nodes or 30,000 pods as kubelets describe them. */
const MAX_FILE_BYTES = 256 * MIB_BYTES;

type KubeKind = 'Node' | 'Pod' | 'ResourceSlice';

const COMMAND: Readonly<Record<KubeKind, string>> = {
  Node: 'kubectl get nodes -o json',
  Pod: 'kubectl get pods -A -o json',
  ResourceSlice: 'kubectl get resourceslices -o json',
};

/**
 * The objects of a List as kubectl prints it, or a single object; `-` is standard input. Throws a {@link CliError} that names what the
 * file holds instead.
 */
export async function readKubeList(path: string, kind: KubeKind): Promise<readonly object[]> {
  const shown = path === '-' ? 'standard input' : path;
  const value = parsed(await readBounded(path, shown, kind), shown, kind);
  const items = itemsOf(value, kind);
  if (items === undefined) {
    throw new CliError(
      `${shown} contains ${describeContent(value)} instead of a List of ${kind} objects; create it with ${COMMAND[kind]}.`,
    );
  }
  for (const [index, item] of items.entries()) {
    const wrong = whyNot(item, kind);
    if (wrong !== undefined) throw new CliError(`${shown}: items[${index}] ${wrong}; create it with ${COMMAND[kind]}.`);
  }
  return items as readonly object[];
}

async function readBounded(path: string, shown: string, kind: KubeKind): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of path === '-' ? process.stdin : createReadStream(path, { highWaterMark: 4 * MIB_BYTES })) {
      const read = chunk as Buffer;
      bytes += read.length;
      if (bytes > MAX_FILE_BYTES) break;
      chunks.push(read);
    }
  } catch (error) {
    throw fileError('read', shown, error);
  }
  if (bytes > MAX_FILE_BYTES) {
    throw new CliError(
      `${shown} is larger than ${MAX_FILE_BYTES / MIB_BYTES} MiB, the maximum; keep only the fields that are needed: ${COMMAND[kind]} | ${SMALLER[kind]}`,
    );
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What placement reads of each object. */
const SMALLER: Readonly<Record<KubeKind, string>> = {
  Node: `jq '.items |= map({kind: "Node", metadata: {name: .metadata.name, labels: .metadata.labels}, spec, status: {allocatable: .status.allocatable, conditions: .status.conditions}})'`,
  Pod: `jq '.items |= map({kind: "Pod", metadata: {name: .metadata.name}, spec: {nodeName: .spec.nodeName, containers: [.spec.containers[] | {resources}]}, status: {phase: .status.phase}})'`,
  ResourceSlice: `jq '.items |= map({kind: "ResourceSlice", metadata: {name: .metadata.name}, spec})'`,
};

function parsed(text: string, shown: string, kind: KubeKind): unknown {
  try {
    return parseForeignJson(text);
  } catch (error) {
    const what = text.trim() === '' ? 'empty' : `not JSON (${safeText((error as Error).message, 200)})`;
    throw new CliError(`${shown} is ${what}; create it with ${COMMAND[kind]}.`);
  }
}

function itemsOf(value: unknown, kind: KubeKind): readonly unknown[] | undefined {
  if (!isObject(value)) return undefined;
  if (value['kind'] === kind) return [value];
  const isList = value['kind'] === 'List' || value['kind'] === `${kind}List`;
  return isList && Array.isArray(value['items']) ? value['items'] : undefined;
}

/** The API server leaves the kind out of a typed list's items. */
function whyNot(item: unknown, kind: KubeKind): string | undefined {
  if (!isObject(item)) return 'is no object';
  const is = item['kind'] ?? kind;
  if (is !== kind) return `is ${kindOf(is)}, and not a ${kind}`;
  const { metadata } = item;
  const name = isObject(metadata) ? metadata['name'] : undefined;
  return typeof name === 'string' && name !== '' ? undefined : 'has no metadata.name';
}

function describeContent(value: unknown): string {
  if (Array.isArray(value)) return 'a list without a kind';
  if (!isObject(value)) return 'no object';
  if (value['kind'] === undefined) return 'an object without a kind';
  return isObject(value) && Array.isArray(value['items'])
    ? kindOf(value['kind'])
    : `${kindOf(value['kind'])} without items`;
}

function kindOf(kind: unknown): string {
  return typeof kind === 'string' ? `a ${safeText(kind, 64)}` : 'of no kind';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
