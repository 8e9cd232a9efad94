import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { applyObjects, pathOf, type KubeObject } from '../kubernetes/apply.ts';
import type { ControlPlane } from '../kubernetes/control-plane.ts';
import { waitFor } from '../process/wait.ts';

const CRDS = join(import.meta.dirname, '../../../../charts/coxswain/definitions');
/** What the chart's templates of roles render to, kept here so that a cluster can be started without helm; a test compares. */
const ROLES = join(import.meta.dirname, 'chart-roles.generated.yaml');
const ESTABLISHED_MS = 120_000;

/** Namespace that the programs are installed into. */
export const SYSTEM_NAMESPACE = 'coxswain-system';

/** Installs the chart's resource definitions, service accounts and roles; the programs themselves run as processes here. */
export async function installChart(plane: ControlPlane): Promise<void> {
  const crds = readdirSync(CRDS).flatMap((file) => objectsIn(join(CRDS, file)));
  await applyObjects(plane.admin, crds);
  await Promise.all(crds.map((crd) => isEstablished(plane, crd)));
  await applyObjects(plane.admin, [namespaceObject(SYSTEM_NAMESPACE), ...objectsIn(ROLES)]);
}

/** A Namespace without labels. */
export function namespaceObject(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

function objectsIn(path: string): KubeObject[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as KubeObject);
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Until then its resources answer "not found". */
async function isEstablished({ admin }: ControlPlane, crd: KubeObject): Promise<void> {
  await waitFor(
    async () => {
      const { status } = await admin.json<WithConditions>({ method: 'GET', path: pathOf(crd) });
      return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True');
    },
    { what: `${crd.metadata.name} to be established`, deadlineMs: ESTABLISHED_MS },
  );
}
