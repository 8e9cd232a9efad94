/** Words of other systems that people type out of habit, and what to type instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  sbatch: 'coxswain import FILE --out job.yaml reads a batch script, and coxswain submit -f job.yaml submits it',
  srun: 'coxswain submit -f job.yaml --watch runs a job and follows it',
  salloc: 'there is no interactive job; coxswain submit -f job.yaml --watch runs a program and follows it',
  squeue: 'coxswain jobs lists jobs, and coxswain queue those that wait, with expected starts',
  scancel: 'coxswain cancel JOB',
  sacct: 'coxswain jobs --sort finishedAt:desc lists jobs, and coxswain get JOB shows the attempts of one',
  sinfo: 'coxswain gpus',
  scontrol: 'coxswain get JOB shows a job, coxswain suspend JOB and coxswain resume JOB hold and release it',
  seff: 'coxswain goodput JOB',
  status: 'coxswain get JOB',
  show: 'coxswain get JOB',
  describe: 'coxswain get JOB, and coxswain explain JOB if it does not train',
  ps: 'coxswain jobs',
  run: 'coxswain submit -f job.yaml',
  create: 'coxswain submit -f job.yaml',
  apply: 'coxswain submit -f job.yaml',
  stop: 'coxswain suspend JOB, which can be resumed, or coxswain cancel JOB',
  kill: 'coxswain cancel JOB',
  pause: 'coxswain suspend JOB',
  log: 'coxswain logs JOB',
  nodes: 'coxswain gpus; for administrators coxswain fabric show',
  top: 'coxswain steps JOB, or coxswain goodput JOB',
};

/** What to type instead of a word that is no command; undefined if that is not known. */
export function insteadOf(word: string | undefined): string | undefined {
  return word !== undefined && Object.hasOwn(INSTEAD, word) ? INSTEAD[word] : undefined;
}

/** Every such word. */
export const FAMILIAR_WORDS: readonly string[] = Object.keys(INSTEAD);
