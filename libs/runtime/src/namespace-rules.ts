/**
 * Checks what the runtime of a namespace can hold. The operator creates the pod with rights that the author of the runtime can
 * lack, so whatever exceeds the rights of any job in the namespace is for administrators (ClusterTrainingRuntime). The rules are
 * an allow list: a field that Kubernetes adds is not allowed.
 */
import { SECRET_PREFIX } from '@coxswain/api-types';
import { isRecord, type Json } from './json.ts';
import type { Problem } from './operator-fields.ts';

/** 'any': whatever is below it. A list: every item alike. A function: why this value is not allowed; undefined where it is. */
type Allowed = 'any' | { readonly [field: string]: Allowed } | readonly [Allowed] | Check;
type Check = (value: unknown) => string | undefined;

const only =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value) ? undefined : `it may be ${values.map((one) => JSON.stringify(one)).join(' or ')} alone`;

/** Root on mounts and devices of a node is more than a job can be. */
const notRoot: Check = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? undefined : 'it must be a number above 0';

const jobSecret: Check = (value) =>
  typeof value === 'string' && value.startsWith(SECRET_PREFIX)
    ? undefined
    : `it must name a Secret that begins with "${SECRET_PREFIX}": jobs can use no other Secret of their namespace`;

const KEY_OF_SECRET = { name: jobSecret, key: 'any', optional: 'any' } as const;
const SECCOMP = { type: only('RuntimeDefault') };

/** Only by a command: with the other kinds the kubelet connects to any address they name. */
const PROBE: Allowed = {
  exec: 'any',
  initialDelaySeconds: 'any',
  periodSeconds: 'any',
  timeoutSeconds: 'any',
  successThreshold: 'any',
  failureThreshold: 'any',
};

const CONTAINER: Allowed = {
  name: 'any',
  image: 'any',
  imagePullPolicy: 'any',
  command: 'any',
  args: 'any',
  workingDir: 'any',
  env: [
    {
      name: 'any',
      value: 'any',
      valueFrom: { secretKeyRef: KEY_OF_SECRET, configMapKeyRef: 'any', fieldRef: 'any', resourceFieldRef: 'any' },
    },
  ],
  envFrom: [{ prefix: 'any', configMapRef: 'any', secretRef: { name: jobSecret, optional: 'any' } }],
  resources: { limits: 'any', requests: 'any' },
  volumeMounts: [{ name: 'any', mountPath: 'any', subPath: 'any', readOnly: 'any', mountPropagation: only('None') }],
  ports: [{ name: 'any', containerPort: 'any', protocol: 'any' }],
  restartPolicy: only('Always'),
  startupProbe: PROBE,
  readinessProbe: PROBE,
  securityContext: {
    runAsUser: notRoot,
    runAsGroup: notRoot,
    runAsNonRoot: only(true),
    readOnlyRootFilesystem: 'any',
    allowPrivilegeEscalation: only(false),
    privileged: only(false),
    capabilities: { drop: 'any' },
    seccompProfile: SECCOMP,
  },
};

const VOLUME: Allowed = {
  name: 'any',
  emptyDir: 'any',
  configMap: 'any',
  downwardAPI: 'any',
  persistentVolumeClaim: 'any',
  secret: { secretName: jobSecret, items: 'any', defaultMode: 'any', optional: 'any' },
  projected: {
    defaultMode: 'any',
    sources: [{ configMap: 'any', downwardAPI: 'any', secret: { name: jobSecret, items: 'any', optional: 'any' } }],
  },
};

/**
 * Excludes labels, which select Services, network policies and webhooks; tolerations, which claim nodes that were set apart; and
 * claims, whose devices are not counted here.
 */
const TEMPLATE: Allowed = {
  metadata: {},
  spec: {
    nodeSelector: 'any',
    imagePullSecrets: [{ name: jobSecret }],
    containers: [CONTAINER],
    initContainers: [CONTAINER],
    volumes: [VOLUME],
    securityContext: {
      runAsUser: notRoot,
      runAsGroup: notRoot,
      runAsNonRoot: only(true),
      fsGroup: notRoot,
      fsGroupChangePolicy: 'any',
      seccompProfile: SECCOMP,
    },
  },
};

/** Every field of the template that only an administrator's runtime can hold. */
export function findClusterOnlyFields(template: Json): readonly Problem[] {
  return beyond(TEMPLATE, template, '');
}

const ADMINISTRATORS = "a namespace's runtime cannot hold it; an administrator's ClusterTrainingRuntime can";

function beyond(allowed: Allowed, value: unknown, at: string): readonly Problem[] {
  // Kubernetes takes null for a field that is left out.
  if (allowed === 'any' || value === null || value === undefined) return [];
  if (typeof allowed === 'function') {
    const why = allowed(value);
    return why === undefined ? [] : [{ field: at, why }];
  }
  if (isItems(allowed)) {
    if (!Array.isArray(value)) return [{ field: at, why: 'it must be a list' }];
    return value.flatMap((item, position) => beyond(allowed[0], item, `${at}[${nameOf(item) ?? position}]`));
  }
  if (!isRecord(value)) return [{ field: at, why: 'it must be an object' }];
  return Object.entries(value).flatMap(([key, inner]) => {
    const field = at === '' ? key : `${at}.${key}`;
    const rule = Object.hasOwn(allowed, key) ? allowed[key] : undefined;
    return rule === undefined ? [{ field, why: ADMINISTRATORS }] : beyond(rule, inner, field);
  });
}

function isItems(allowed: Exclude<Allowed, 'any' | Check>): allowed is readonly [Allowed] {
  return Array.isArray(allowed);
}

function nameOf(item: unknown): string | undefined {
  return isRecord(item) && typeof item['name'] === 'string' ? item['name'] : undefined;
}
