/** Prepares a volume from which the command of an observed container begins. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { POD_ENV } from '@coxswain/api-types';
import { PYTHON_PATH, installHook } from '../hook/install-hook.ts';
import { install } from '../program/install.ts';
import { LAUNCHER_ENV } from '../program/settings.ts';

const LAUNCHER = 'coxswain-launcher';
/** Sockets of observers. Containers of one pod may have different users. */
const SOCKETS = 'run';
/** Written last: without it, the program starts as if nothing of this were there. */
const SCRIPT = 'observe.sh';

/** Copies launcher, hook and script into `directory`. */
export async function installObserver(executable: string, directory: string): Promise<void> {
  await install(executable, join(directory, LAUNCHER));
  installHook(directory);
  const sockets = join(directory, SOCKETS);
  await mkdir(sockets, { recursive: true });
  await chmod(sockets, 0o1777);
  await writeFile(join(directory, SCRIPT), observeScript(directory));
}

/**
 * What the shell of an observed container reads before it becomes the program: it starts the observer beside it. The program keeps the process ID, its
 * parent, its signals and its descriptors, so nothing of ours lies between it and the container runtime.
 */
function observeScript(directory: string): string {
  const variables = [LAUNCHER_ENV.bootId, LAUNCHER_ENV.reportSocket, PYTHON_PATH];
  return `if [ -x ${directory}/${LAUNCHER} ] && read -r ${LAUNCHER_ENV.bootId} </proc/sys/kernel/random/uuid; then
  ${LAUNCHER_ENV.reportSocket}=${directory}/${SOCKETS}/$${LAUNCHER_ENV.bootId}
  ${PYTHON_PATH}=${directory}/hook\${${PYTHON_PATH}:+:$${PYTHON_PATH}}
  export ${variables.join(' ')}
  ${directory}/${LAUNCHER} observe $$ </dev/null >/dev/null 2>&1 &
  unset ${[POD_ENV.reportUrls, POD_ENV.reportCa, POD_ENV.tokenFile].join(' ')}
fi
`;
}
