/** Is a text a program in Python? By a line that imports, which no other file that is read here has. */
export function isPython(text: string): boolean {
  return /^(?:import [\w.]+(?:, [\w.]+)*(?: as \w+)?|from [\w.]+ import [\w.,*( ]+)\s*$/m.test(text);
}

/** What to do with a Python program that was given in the place of a job. */
export const PYTHON_INSTEAD =
  'Write a job for it: coxswain init --engine command --gpus N --image IMAGE -- python3 FILE. Then coxswain submit -f JOB.yaml --workdir . ships the program with the job.';
