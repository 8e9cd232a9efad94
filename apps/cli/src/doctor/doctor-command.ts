import { formatCount } from '@coxswain/units';
import type { Command } from 'commander';
import { problemLines } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import type { DoctorFinding, DoctorObjects } from './doctor-findings.ts';

interface DoctorOptions {
  readonly objects?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** What `coxswain doctor --output json` prints. */
interface DoctorAnswer {
  /** Kinds of objects that were read. */
  readonly read: readonly string[];
  readonly findings: readonly DoctorFinding[];
}

/** `coxswain doctor` */
export function addDoctorCommand(program: Command, session: Session): void {
  program
    .command('doctor')
    .description('find what a cluster lacks so that jobs wait in the right order and start')
    .option('--objects <file>', 'read the objects from a file instead of the cluster; - is standard input')
    .option('--kubeconfig <file>', 'kubeconfig of the cluster (default: KUBECONFIG, ~/.kube/config)')
    .option('--context <name>', 'context of the kubeconfig')
    .addHelpText('after', HELP)
    .action(async (options: DoctorOptions) => {
      // Few commands need the rules of scheduling, so they are loaded late.
      const { DOCTOR_KINDS, doctorFindings } = await import('./doctor-findings.ts');
      const objects = await read(options);
      const findings = doctorFindings(objects);
      const answer: DoctorAnswer = { read: Object.keys(DOCTOR_KINDS), findings };
      session.show(answer, doctorText);
      if (findings.length > 0) session.setExitCode(1);
    });
}

const HELP = `
It reads, and changes nothing. The exit code is 1 if something is missing or wrong.

Examples:
  coxswain doctor --context production
  kubectl get trainingjobs,fabrics,priorityclasses,resourcequotas,validatingadmissionpolicies,validatingadmissionpolicybindings \\
    -A -o json | coxswain doctor --objects -`;

async function read({ objects, ...cluster }: DoctorOptions): Promise<DoctorObjects> {
  if (objects !== undefined) {
    const { objectsOfFile } = await import('./objects-of-file.ts');
    return objectsOfFile(objects);
  }
  const { readDoctorObjects } = await import('./read-doctor-objects.ts');
  return readDoctorObjects(cluster);
}

function doctorText({ read: kinds, findings }: DoctorAnswer): string {
  if (findings.length === 0) return `Nothing is missing. Read: ${kinds.join(', ')}.`;
  return `${problemLines(findings)}\n\n${formatCount(findings.length, 'problem')}.`;
}
