import { findBinary, SYSTEM_NAMESPACE } from '@coxswain/local-cluster';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
/** Absolute path of the Helm chart. */
export const CHART = resolve(ROOT, 'charts/coxswain');
/** What the local cluster installs of the chart without asking helm. */
export const LOCAL_ROLES = resolve(ROOT, 'dev/local-cluster/src/system/chart-roles.generated.yaml');

/** What the chart renders with default values; `templates` picks some, e.g. `templates/operator-rbac.yaml`. */
export async function renderChart(
  options: { readonly templates?: readonly string[]; readonly values?: readonly string[] } = {},
): Promise<string> {
  const show = (options.templates ?? []).flatMap((template) => ['--show-only', template]);
  const set = (options.values ?? []).flatMap((value) => ['--set', value]);
  return helm('template', 'coxswain', CHART, '--namespace', SYSTEM_NAMESPACE, ...show, ...set);
}

/** Service accounts, roles and bindings of operator and API, and the admission policy that goes by them. */
export function renderRoles(): Promise<string> {
  return renderChart({
    templates: ['templates/operator-rbac.yaml', 'templates/api-rbac.yaml', 'templates/admission-policy.yaml'],
  });
}

/** Runs helm and gives its output. */
export async function helm(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(await findBinary('helm'), args, { maxBuffer: 16 * 1024 * 1024 });
  return stdout;
}
