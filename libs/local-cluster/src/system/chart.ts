import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinary } from '../programs/binaries.ts';
import type { ControlPlane } from '../kubernetes/control-plane.ts';

const CHART = join(import.meta.dirname, '../../../../charts/coxswain');

/** Namespace that the programs are installed into. */
export const SYSTEM_NAMESPACE = 'coxswain-system';

/** What the chart renders with default values; `templates` picks some, e.g. `templates/operator-rbac.yaml`. */
export async function renderChart(
  options: { readonly templates?: readonly string[]; readonly values?: readonly string[] } = {},
): Promise<string> {
  const helm = await findBinary('helm');
  const show = (options.templates ?? []).flatMap((template) => ['--show-only', template]);
  const set = (options.values ?? []).flatMap((value) => ['--set', value]);
  const { stdout } = await promisify(execFile)(
    helm,
    ['template', 'coxswain', CHART, '--namespace', SYSTEM_NAMESPACE, ...show, ...set],
    {
      maxBuffer: 16 * 1024 * 1024,
    },
  );
  return stdout;
}

/** Installs the chart's resource definitions, service accounts and roles; the programs themselves run as processes here. */
export async function installChart(plane: ControlPlane): Promise<void> {
  await plane.kubectl(['apply', '--server-side', '-f', join(CHART, 'crds')]);
  await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', '-f', join(CHART, 'crds')]);
  await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: namespaceManifest(SYSTEM_NAMESPACE) });
  const roles = await renderChart({ templates: ['templates/operator-rbac.yaml', 'templates/api-rbac.yaml'] });
  await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: roles });
}

export function namespaceManifest(name: string): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}
