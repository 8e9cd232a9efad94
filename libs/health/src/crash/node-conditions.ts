/** Node conditions that show a fault, with the class of the fault. */
import type { CrashClass } from '@coxswain/api-types';

/** The status that shows the fault; True for all but Ready. */
interface ConditionMeaning {
  readonly class: CrashClass;
  readonly by: string;
}

/** Conditions that are True in case of a fault. node-problem-detector, NVSentinel and the kubelet write them. */
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
};

/** Conditions of the kubelet about its whole node. Pods may cause them, so the program's log is better evidence. */
const PRESSURES: Readonly<Record<string, ConditionMeaning>> = of('kubelet', 'NodeUnhealthy', [
  'NetworkUnavailable',
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
]);

/** A condition of a node. */
export interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

/** The class of fault that a condition shows; undefined for none, for instance if it is not True. */
export function faultClass(condition: NodeCondition): CrashClass | undefined {
  return classIn(FAULTS, condition);
}

/** The same for conditions that pods may cause. */
export function pressureClass(condition: NodeCondition): CrashClass | undefined {
  return classIn(PRESSURES, condition);
}

function classIn(
  table: Readonly<Record<string, ConditionMeaning>>,
  { type, status }: NodeCondition,
): CrashClass | undefined {
  return status === 'True' && Object.hasOwn(table, type) ? table[type]?.class : undefined;
}

function of(by: string, name: CrashClass, types: readonly string[]): Record<string, ConditionMeaning> {
  return Object.fromEntries(types.map((type) => [type, { class: name, by }]));
}
