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
};

/** What the kubelet says of its node as a whole: it may come of what pods do, so what they wrote says more. */
const PRESSURES: Readonly<Record<string, ConditionMeaning>> = of('kubelet', 'NodeUnhealthy', [
  'NetworkUnavailable',
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
]);

/** A condition as a Node has it. */
export interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

/** Of which class of fault a condition tells; undefined: of none, as one that is not True. */
export function faultClass(condition: NodeCondition): CrashClass | undefined {
  return classIn(FAULTS, condition);
}

/** The same of what may be a consequence. */
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
