import type { FailureOrigin } from '@coxswain/api-types';
import type { Failure } from './failure.ts';

/** Where the failure began, as status keeps it. Undefined fields are absent. */
export function originOfFailure({ rank, pod, where: node, crash, originExitCode }: Failure): FailureOrigin {
  const { exitCode = -1, signal } = originExitCode === undefined ? crash : { exitCode: originExitCode };
  return {
    ...(rank === undefined ? {} : { rank }),
    ...(pod === undefined ? {} : { pod }),
    ...(node === undefined ? {} : { node }),
    ...(exitCode >= 0 && exitCode < 65_536 ? { exitCode } : {}),
    ...(signal === undefined ? {} : { signal: signal.slice(0, 32) }),
  };
}
