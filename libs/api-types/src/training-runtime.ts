/** Runtimes: what pods get beyond their job's spec. An administrator defines cluster-wide ones, and a namespace its own. */
import { z } from 'zod';
import { ENGINE_NAMES } from './engine-names.ts';
import { FailurePolicy } from './failure-policy.ts';
import { CpuQuantity, EnvName, MemoryQuantity, ObjectName } from './field-names.ts';
import type { ObjectMeta } from './metadata.ts';
import type { API_GROUP_VERSION } from './names.ts';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { PreflightSpec } from './preflight.ts';
import { CheckpointRetention } from './retention-policy.ts';

/** Kinds of the two runtime resources. */
export const RUNTIME_KINDS = ['ClusterTrainingRuntime', 'TrainingRuntime'] as const;
/** Kind of a runtime. */
export type RuntimeKind = (typeof RUNTIME_KINDS)[number];

/** The runtime that a job references. */
export const RuntimeRef = z
  .strictObject({
    kind: z
      .enum(RUNTIME_KINDS)
      .default('ClusterTrainingRuntime')
      .describe('TrainingRuntime: a runtime in the namespace of the job.'),
    name: ObjectName.describe('Name of the runtime.'),
  })
  .meta({ id: 'RuntimeRef' });
export type RuntimeRef = z.infer<typeof RuntimeRef>;

/** `ClusterTrainingRuntime efa`; ClusterTrainingRuntime is the default kind. */
export function runtimeName({ kind = 'ClusterTrainingRuntime', name }: z.input<typeof RuntimeRef>): string {
  return `${kind} ${name}`;
}

/**
 * Part of a Kubernetes pod, as its author wrote it. Each version of Kubernetes has other fields, so a dry run at the API server checks the pod, not a
 * schema of ours. What a runtime may hold is checked by rules (`libs/runtime`).
 */
const PodTemplate = z.record(z.string(), z.unknown()).meta({
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  additionalProperties: undefined,
  propertyNames: undefined,
});

const absolutePath = z
  .string()
  .min(2)
  .max(512)
  .regex(/^\/\S+$/, 'must be an absolute path without spaces')
  .describe('Script in the pod that bash sources before each rank starts, such as one that sets NCCL’s environment.');

/** Variables of ranks on nodes whose NICs are of that class. */
const NicEnvironment = z
  .strictObject({
    nicClass: z
      .string()
      .min(1)
      .max(63)
      .describe('Value of the node label fabric.coxswain.dev/nic-type: infiniband, roce, ethernet, ...'),
    env: z
      .array(
        z.strictObject({
          name: EnvName.describe('Name of the variable.'),
          value: z.string().max(4096).describe('Its value.'),
        }),
      )
      .min(1)
      .max(64)
      .describe('Variables of ranks on these nodes.'),
  })
  .meta({ id: 'NicEnvironment' });
/** Variables of ranks by NIC class of their node. */
export type NicEnvironment = z.infer<typeof NicEnvironment>;

const nicEnvironments = z
  .array(NicEnvironment)
  .max(8)
  .describe('Variables that depend on the NICs of the node that a pod is placed on, such as NCCL_IB_HCA.');

const RUNTIME_FIELDS = {
  description: z.string().max(1024).optional().describe('Description for people who choose a runtime.'),
  sourceScript: absolutePath.optional(),
  imagePullDeadlineSeconds: z
    .int()
    .min(60)
    .max(14_400)
    .optional()
    .describe(
      'How long pulls of the trainer’s image may take before the gang is given up. Absent: the setting of the operator, 30 minutes by default.',
    ),
  engine: z
    .strictObject({
      name: z.enum(ENGINE_NAMES).describe('Engine in the image.'),
      release: z.string().min(1).max(128).optional().describe('Its release. Absent: unknown.'),
    })
    .optional()
    .describe('Engine in the image. Jobs of another engine are rejected. Absent: unknown.'),
  nicEnvironments: nicEnvironments.optional(),
  preflight: PreflightSpec.optional().describe(
    'Preflight before the first rank, for jobs without their own. Absent: level Quick.',
  ),
  failurePolicy: FailurePolicy.optional().describe(
    'Rules that apply after those of the job; budgets and maxCyclesWithoutProgress for jobs without their own.',
  ),
  checkpoint: z
    .strictObject({
      retention: CheckpointRetention.optional().describe(
        'Which saves stay, for jobs without their own retention. It applies to all saves of these jobs as soon as it is written. Absent: every save stays.',
      ),
    })
    .meta({ id: 'RuntimeCheckpointSpec' })
    .optional()
    .describe('Checkpoints of jobs that use the runtime.'),
  template: PodTemplate.default({}).describe(
    'metadata (labels, annotations) and spec of a pod. Fields of container "trainer" are added to the trainer container; other containers run beside it. Fields that the operator sets itself are rejected.',
  ),
};

/** Spec of a runtime of one namespace. */
export const TrainingRuntimeSpec = z.strictObject(RUNTIME_FIELDS).meta({ id: 'TrainingRuntimeSpec' });
export type TrainingRuntimeSpec = z.infer<typeof TrainingRuntimeSpec>;

/** Of NVIDIA's DRA driver (`resource.nvidia.com/v1beta1`). An object, so that the driver's options have a place. */
const ComputeDomainOptions = z
  .strictObject({})
  .meta({ id: 'ComputeDomainOptions' })
  .describe(
    'Each gang gets its own ComputeDomain, and each trainer a channel of it: the GPUs of its nodes share memory over NVLink (GB200 NVL72 and later).',
  );

const prefixes = z.array(z.string().min(1).max(512)).max(64).meta({ 'x-kubernetes-list-type': 'set' });

/** Limits on the spec of jobs that use the runtime. */
const JobBounds = z
  .strictObject({
    images: prefixes
      .optional()
      .describe(
        'Images that the job may use: registries or paths that end with a slash, or images with any tag. Empty: only the image of the runtime.',
      ),
    refusedVariables: prefixes
      .optional()
      .describe('Prefixes of variables that a job may not set, such as NCCL_, because the runtime sets them.'),
    gpusPerNode: z
      .int()
      .min(1)
      .max(MAX_RANKS_PER_POD)
      .optional()
      .describe('Exact number of GPUs of each pod: whole nodes.'),
    maxCpuPerGpu: CpuQuantity.optional().describe('Most CPU for each GPU of a pod. Absent: no limit.'),
    maxMemoryPerGpu: MemoryQuantity.optional().describe('Most memory for each GPU of a pod. Absent: no limit.'),
  })
  .meta({ id: 'JobBounds' });
/** Limits on the spec of jobs that use a runtime. */
export type JobBounds = z.infer<typeof JobBounds>;

/** Most namespaces that one cluster-wide runtime lists. */
export const MAX_RUNTIME_NAMESPACES = 1000;

/** Spec of a cluster-wide runtime. */
export const ClusterTrainingRuntimeSpec = z
  .strictObject({
    ...RUNTIME_FIELDS,
    computeDomain: ComputeDomainOptions.optional(),
    jobs: JobBounds.optional().describe('Limits on the spec of jobs that use it. Absent: no limits.'),
    namespaces: z
      .array(ObjectName)
      .max(MAX_RUNTIME_NAMESPACES)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'set' })
      .describe('Namespaces whose jobs may use it. Absent: every namespace; empty: none.'),
  })
  .meta({ id: 'ClusterTrainingRuntimeSpec' });
export type ClusterTrainingRuntimeSpec = z.infer<typeof ClusterTrainingRuntimeSpec>;

/** A runtime as the API server holds it. */
export interface TrainingRuntime {
  readonly apiVersion: typeof API_GROUP_VERSION;
  readonly kind: RuntimeKind;
  readonly metadata: ObjectMeta;
  readonly spec: ClusterTrainingRuntimeSpec;
}

/** A copy of a runtime for the pods of one attempt; later changes of the object do not affect it. */
export const RuntimeSnapshot = z
  .strictObject({
    kind: z.enum(RUNTIME_KINDS).describe('Kind of the runtime.'),
    name: z.string().max(253).describe('Name of the runtime.'),
    uid: z.string().max(64).describe('UID of the runtime.'),
    generation: z.int().min(0).max(Number.MAX_SAFE_INTEGER).describe('Its metadata.generation when it was copied.'),
    sourceScript: absolutePath.optional(),
    computeDomain: ComputeDomainOptions.optional(),
    imagePullDeadlineSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .optional()
      .describe('How long pulls of the image may take. Absent: the setting of the operator.'),
    nicEnvironments: nicEnvironments.optional(),
    preflight: PreflightSpec.optional().describe('Preflight before the first rank, for jobs without their own.'),
    failurePolicy: FailurePolicy.optional().describe('Rules that apply after those of the job.'),
    template: PodTemplate.describe('Part of a pod that is added to each pod of the gang.'),
  })
  .meta({ id: 'RuntimeSnapshot' });
export type RuntimeSnapshot = z.infer<typeof RuntimeSnapshot>;
