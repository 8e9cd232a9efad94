import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig as readApiConfig } from '../../apps/api/src/config/config.ts';
import { readConfig as readOperatorConfig } from '../../apps/operator/src/config/config.ts';
import { CHART, renderChart } from './render.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

interface Deployment extends Manifest {
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly { readonly env: readonly EnvVar[] }[] } };
  };
}

interface EnvVar {
  readonly name: string;
  readonly value?: string;
}

/** Without an issuer nobody asks how long a session lasts. */
const SIGN_IN = [
  'api.publicUrl=https://coxswain.example.com',
  'api.oidc.issuerUrl=https://issuer.example.com',
  'api.oidc.clientId=coxswain',
];
const valuesOfChart: unknown = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));

/** An upgrade that keeps its values makes nobody else of ranks: who they were owns their checkpoints. */
const UNTOLD_BY_UPGRADES = ['operator.trainingPods.runAsUser'];

/** Paths of all numbers, such as `api.sessions.hours`. */
function numbersIn(values: unknown, path: readonly string[] = []): readonly string[] {
  if (typeof values === 'number') return [path.join('.')];
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return [];
  return Object.entries(values).flatMap(([key, value]) => numbersIn(value, [...path, key]));
}

/** Groups that numbers stand in, such as `api.sessions`. */
function groupsOf(paths: readonly string[]): readonly string[] {
  const groups = new Set(paths.map((path) => path.split('.').slice(0, -1).join('.')));
  return [...groups].filter((group) => group.includes('.'));
}

function isWithin(group: string, groups: readonly string[]): boolean {
  return groups.some((outer) => group.startsWith(`${outer}.`));
}

function documentsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

function kindsNamed(documents: readonly Manifest[], name: string): readonly string[] {
  return documents.filter(({ metadata }) => metadata.name === name).map(({ kind }) => kind);
}

/** What the program makes of its environment, and how many of it there are. */
function configOf(documents: readonly Manifest[], name: string): object {
  const found = documents.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);
  const { replicas, template } = (found as Deployment).spec;
  const env = Object.fromEntries(
    (template.spec.containers[0]?.env ?? []).map(({ name: key, value = '' }) => [key, value]),
  );
  const config =
    name === 'coxswain-api'
      ? readApiConfig({ ...env, DATABASE_URL: 'postgresql://any', COXSWAIN_DATABASE_SINGLE_ROLE: 'true' })
      : { ...readOperatorConfig(env), identity: 'of each process its own' };
  return { replicas, config };
}

describe('the numbers of values.yaml', () => {
  it.each<[string, (paths: readonly string[]) => readonly string[]]>([
    ['of a number', (paths) => paths],
    ['of a group of numbers', (paths) => groupsOf(paths).filter((group) => !isWithin(group, groupsOf(paths)))],
    ['of a group within a group', (paths) => groupsOf(paths).filter((group) => isWithin(group, groupsOf(paths)))],
  ])('fall back to their defaults where --reuse-values knows none %s', async (_sentence, missing) => {
    const paths = numbersIn(valuesOfChart).filter((path) => !UNTOLD_BY_UPGRADES.includes(path));
    const values = missing(paths).map((path) => `${path}=null`);
    expect(values).not.toEqual([]);
    const fresh = documentsOf(await renderChart({ values: SIGN_IN }));
    const reused = documentsOf(await renderChart({ values: [...SIGN_IN, ...values] }));
    for (const name of ['coxswain-api', 'coxswain-operator']) {
      expect(configOf(reused, name)).toEqual(configOf(fresh, name));
      expect(kindsNamed(reused, name)).toEqual(kindsNamed(fresh, name));
    }
  });

  it('leave ranks who they were where --reuse-values knows no user for them', async () => {
    const reused = documentsOf(await renderChart({ values: UNTOLD_BY_UPGRADES.map((path) => `${path}=null`) }));
    expect(configOf(reused, 'coxswain-operator')).toMatchObject({ config: { pods: { user: undefined } } });
    const fresh = documentsOf(await renderChart());
    expect(configOf(fresh, 'coxswain-operator')).toMatchObject({ config: { pods: { user: 65_532 } } });
  });

  it('are passed on as what they are where they are 0, which is no limit', async () => {
    const limits = numbersIn(valuesOfChart).filter((path) => /^api\.(projectLimits|series)/.test(path));
    const mayBeNone = limits.filter((path) => !/requestBurst|changeBurst|writeBurst|unreadStreamKiB/.test(path));
    const text = await renderChart({ values: mayBeNone.map((path) => `${path}=0`) });
    expect(text.match(/value: "0"$/gm)).toHaveLength(mayBeNone.length);
  });
});
