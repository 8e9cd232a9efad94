/** Which files of a working directory does no client ship, and which does it warn of? Patterns that JavaScript and Python read alike, for paths in lower case with `/`. */

/** No job runs them, and they change without a change of the code. */
export const UNNEEDED_FOLDERS = ['.git', '__pycache__', '.ipynb_checkpoints'] as const;

/** Credentials of a person. A job gets its own from Secrets. */
export const WITHHELD_FILES =
  '(^|/)((\\.ssh|\\.aws|\\.azure|\\.kube|\\.docker|\\.gnupg|\\.config/gcloud|[._]netrc|\\.git-credentials)(?=/|$)|\\.cache/huggingface/(token|stored_tokens)$)';

/** Files that look like secrets. A program may need one all the same, so clients ship it and warn. */
export const LIKELY_SECRETS =
  '(^|/)(([^/]*\\.)?env|\\.env\\.[^/]*|\\.envrc|\\.pypirc|\\.npmrc|\\.pgpass|\\.htpasswd|id_(rsa|dsa|ecdsa|ed25519)|[^/]*\\.(pem|key|p12|pfx|jks|kdbx)|([^/]*[-_.])?(credentials?|secrets?|service[-_]?account)([-_.][^/]*)?\\.(json|ya?ml|toml|ini)|credentials|([^/]*\\.)?kubeconfig|([^/]*[-_.])?token(\\.txt)?)$';

/** Files that hold only names of variables. */
export const HARMLESS_FILES = '\\.(example|sample|template|dist)(\\.[a-z]+)?$';
