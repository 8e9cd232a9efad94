/** Number formats: Megatron-Bridge lays them over model, optimizer and gradients at once (training/mixed_precision.py). */
import type { RenderedField } from '../../megatron/rendered-field.ts';
import { given, type Json } from '../check.ts';

const IN_FP32 = '--accumulate-allreduce-grads-in-fp32';
const IN_BF16 = '--grad-reduce-in-bf16';

/** The section `mixed_precision`. */
export type MixedPrecision = Readonly<Record<string, Json>>;

/**
 * Undefined if neither job nor layout gives a format. Scaling is set with every 8-bit format, even if Megatron-Bridge would do
 * the same.
 */
export function mixedPrecision(fields: readonly RenderedField[], isStated: boolean): MixedPrecision | undefined {
  if (!isStated) return undefined;
  const values = new Map(fields.flatMap((one) => (one.kind === 'flag' ? [[one.flag, one.values[0] ?? '']] : [])));
  const wide = values.has('--fp16') ? 'float16' : values.has('--bf16') ? 'bfloat16' : 'float32';
  return given<Json>({
    fp32: wide === 'float32',
    fp16: wide === 'float16',
    bf16: wide === 'bfloat16',
    params_dtype: { dtype: wide },
    pipeline_dtype: { dtype: wide },
    // Megatron-Bridge lays it over ddp.grad_reduce_in_fp32 (mixed_precision.setup).
    grad_reduce_in_fp32: wide === 'float16' ? values.has(IN_FP32) : !values.has(IN_BF16),
    fp8: values.get('--fp8-format'),
    fp8_recipe: values.get('--fp8-recipe'),
    fp4: values.get('--fp4-format'),
    fp4_recipe: values.get('--fp4-recipe'),
  });
}
