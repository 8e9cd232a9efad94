/** How may people name what a spec refers to? */
import { z } from 'zod';
import { cel } from './cel.ts';

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** Name of an object in a namespace: an RFC 1123 label, at most 63 characters. */
export const ObjectName = z
  .string()
  .min(1)
  .max(63)
  .regex(DNS_LABEL, 'must be lower-case letters, digits and "-", and start and end with a letter or digit');

const SYSTEM_PREFIX = 'system-';

/** Whether the PriorityClass is one of Kubernetes, such as `system-node-critical`. The API server reserves these names for its own pods. */
export function isSystemPriorityClass(name: string): boolean {
  return name.startsWith(SYSTEM_PREFIX);
}

const NO_SYSTEM_CLASS = 'PriorityClasses whose names start with system- are for pods of Kubernetes itself';

/** Name of a PriorityClass that jobs may have: an RFC 1123 subdomain, as the API server accepts it, and none of Kubernetes itself. */
export const PriorityClassName = z
  .string()
  .min(1)
  .max(253)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    'must be lower-case letters, digits, "-" and ".", and start and end with a letter or digit',
  )
  .refine((name) => !isSystemPriorityClass(name), NO_SYSTEM_CLASS)
  .meta(cel({ rule: `!self.startsWith('${SYSTEM_PREFIX}')`, message: NO_SYSTEM_CLASS }));

const OURS = 'names that start with COXSWAIN_ are written by the operator';
/** Name of an environment variable that a user may set. */
export const EnvName = z
  .string()
  .max(128)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a C identifier')
  .meta(cel({ rule: "!self.startsWith('COXSWAIN_')", message: OURS }))
  .refine((name) => !name.startsWith('COXSWAIN_'), OURS);

/** CPUs in the notation of Kubernetes, without exponents. */
export const CpuQuantity = z
  .string()
  .max(32)
  .regex(/^[0-9]+(\.[0-9]+)?m?$/, 'must be a Kubernetes CPU quantity such as 500m or 4');

/** Bytes in the notation of Kubernetes, without exponents. */
export const MemoryQuantity = z
  .string()
  .max(32)
  .regex(/^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$/, 'must be a Kubernetes memory quantity such as 16Gi');

/** A relative path without `..`, so that it stays inside its claim. */
export const RelativePath = z
  .string()
  .max(512)
  .regex(/^(?!\/)(?!.*(^|\/)\.\.(\/|$)).*$/s, 'must be relative and must not contain ".."')
  .meta({
    pattern: undefined,
    ...cel({
      rule: "!self.startsWith('/') && !self.split('/').exists(part, part == '..')",
      message: 'must be a relative path without ".."',
    }),
  });
