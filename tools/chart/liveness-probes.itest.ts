import { parseAllDocuments } from 'yaml';
import { renderChart } from './render.ts';

interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe: { readonly httpGet: { readonly path: string; readonly port: string } };
  readonly readinessProbe: { readonly httpGet: { readonly port: string } };
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly Container[] } };
    readonly ingress: readonly { readonly ports: readonly { readonly port: string }[] }[];
  };
}

describe('the liveness probe', () => {
  it.each(['coxswain-api', 'coxswain-operator'])(
    'of %s asks a thread of its own, on a port that is open',
    async (name) => {
      const text = await renderChart({ values: ['networkPolicy.enabled=true', 'api.liveness.stallSeconds=90'] });
      const manifests = parseAllDocuments(text)
        .map((document) => document.toJS() as Manifest)
        .filter(({ metadata }) => metadata.name === name);
      const container = manifests.find(({ kind }) => kind === 'Deployment')?.spec.template.spec.containers[0];
      const env = new Map(container?.env.map(({ name: key, value }) => [key, value]));
      const port = container?.ports.find(({ name: known }) => known === 'liveness');
      expect(container?.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'liveness' });
      expect(container?.readinessProbe.httpGet.port).not.toBe('liveness');
      expect(env.get('COXSWAIN_LIVENESS_PORT')).toBe(String(port?.containerPort));
      expect(env.get('COXSWAIN_LIVENESS_STALL_MS')).toBe(name === 'coxswain-api' ? '90000' : '60000');
      const policy = manifests.find(({ kind }) => kind === 'NetworkPolicy');
      expect(policy?.spec.ingress.flatMap(({ ports }) => ports.map(({ port: open }) => open))).toContain('liveness');
    },
  );
});
