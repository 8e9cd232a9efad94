/** Where may the ranks of a pod write what need not be kept? */
import { z } from 'zod';
import { cel } from './cel.ts';
import { ObjectName, RelativePath } from './field-names.ts';
import { POD_PATHS } from './names.ts';

const SIZE_OF_A_DIRECTORY =
  'sizeLimit bounds a directory of the node and path lies inside a claim: give claimName with path, or sizeLimit alone';

/** Local scratch space of each pod. */
export const ScratchSpec = z
  .strictObject({
    sizeLimit: z
      .string()
      .max(32)
      .regex(/^[1-9][0-9]*(Mi|Gi|Ti)$/, 'must be a whole number of Mi, Gi or Ti, such as 200Gi')
      .optional()
      .describe(
        'Most that a pod may write into its directory on the node, which is deleted with the pod; the kubelet evicts a pod that writes more. Absent: limited only by the node.',
      ),
    claimName: ObjectName.optional().describe(
      'Instead of a directory of the node: a PersistentVolumeClaim that every node can mount, shared by all pods and kept after the job.',
    ),
    path: RelativePath.optional().describe('Directory inside the claim.'),
  })
  .meta({
    id: 'ScratchSpec',
    ...cel({
      rule: 'has(self.claimName) ? !has(self.sizeLimit) : !has(self.path)',
      message: SIZE_OF_A_DIRECTORY,
      fieldPath: '.sizeLimit',
    }),
  })
  .refine(({ claimName, sizeLimit, path }) => (claimName === undefined ? path : sizeLimit) === undefined, {
    path: ['sizeLimit'],
    message: SIZE_OF_A_DIRECTORY,
  })
  .describe(`Temporary space at ${POD_PATHS.scratch}; compilers and Hugging Face keep their caches there.`);
export type ScratchSpec = z.infer<typeof ScratchSpec>;
