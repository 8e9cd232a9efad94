const PROBLEMS: Readonly<Record<string, string>> = {
  'no-role': 'Your account has no role here. Ask an administrator to give one of your groups a role.',
  'start-again': 'The sign-in took too long, or began in another browser. Please start again.',
  unavailable: 'The accounts service does not answer at the moment. Try again in a minute, or use an API token.',
};

/** The message for a failed sign-in at the identity provider. The code comes from the URL, which anyone can forge, so it is never shown. */
export function signInProblem(word: string): string {
  return (
    (Object.hasOwn(PROBLEMS, word) ? PROBLEMS[word] : undefined) ?? 'The sign-in was not completed. Please try again.'
  );
}
