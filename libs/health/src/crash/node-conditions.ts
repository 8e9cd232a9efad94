/** Which conditions of a Node say that it is not well, and of what? */
import type { CrashClass } from '@coxswain/api-types';

/** The status that says so; True for all but Ready. */
interface ConditionMeaning {
  readonly class: CrashClass;
  readonly by: string;
}

/** Conditions that are True where something is wrong. Who writes them: node-problem-detector, NVSentinel, the kubelet. */
const FAULTS: Readonly<Record<string, ConditionMeaning>> = {
  ...of('node-problem-detector', 'NodeUnhealthy', [
    'KernelDeadlock',
    'ReadonlyFilesystem',
    'FrequentKubeletRestart',
    'XfsShutdown',
    'CperHardwareErrorFatal',
    'KubeletUnhealthy',
    'ContainerRuntimeUnhealthy',
  ]),
  ...of('NVSentinel', 'GpuMemoryError', ['GpuMemWatch']),
  ...of('NVSentinel', 'NvlinkError', ['GpuNvlinkWatch', 'NVSwitchFatalError', 'NVSwitchDown', 'SysLogsSXIDError']),
  ...of('NVSentinel', 'GpuLost', ['SysLogsGPUFallenOff']),
  ...of('NVSentinel', 'GpuFault', [
    'GpuThermalWatch',
    'GpuPcieWatch',
    'GpuPowerWatch',
    'GpuInforomWatch',
    'GpuSmWatch',
    'GpuMcuWatch',
    'GpuPmuWatch',
    'GpuDriverWatch',
    'GpuCpusetWatch',
    'SysLogsXIDError',
    'DCGMError',
  ]),
  ...of('NVSentinel', 'MaintenanceDue', ['CSPMaintenance']),
  ...of('GKE', 'GpuFault', ['XidCriticalError']),
  ...of('kubelet', 'NodeUnhealthy', ['NetworkUnavailable', 'MemoryPressure', 'DiskPressure', 'PIDPressure']),
};

/** A condition as a Node has it. */
export interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

/** Of which class a condition tells; undefined: of none, as one that is not True. */
export function conditionClass({ type, status }: NodeCondition): CrashClass | undefined {
  return status === 'True' && Object.hasOwn(FAULTS, type) ? FAULTS[type]?.class : undefined;
}

function of(by: string, name: CrashClass, types: readonly string[]): Record<string, ConditionMeaning> {
  return Object.fromEntries(types.map((type) => [type, { class: name, by }]));
}
