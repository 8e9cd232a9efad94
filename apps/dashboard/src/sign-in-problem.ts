const PROBLEMS: Readonly<Record<string, string>> = {
  'no-role': 'Your account has no role here. Ask an administrator to give one of your groups a role.',
  'start-again': 'The sign-in took too long, or began in another browser. Please start again.',
  unavailable: 'The accounts service does not answer at the moment. Try again in a minute, or use an API token.',
};

/** What to say of a sign-in at the issuer that failed. The word comes from an address, which anybody can write: nothing of it is shown. */
export function signInProblem(word: string): string {
  return (
    (Object.hasOwn(PROBLEMS, word) ? PROBLEMS[word] : undefined) ?? 'The sign-in was not completed. Please try again.'
  );
}
