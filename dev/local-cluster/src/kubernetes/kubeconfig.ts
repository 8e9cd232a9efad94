/** Who a kubeconfig speaks as. */
export type KubeconfigUser = { readonly certPem: string; readonly keyPem: string } | { readonly tokenFile: string };

/** A kubeconfig with one cluster and one user, as JSON (which is YAML). */
export function kubeconfig(url: string, caPem: string, user: KubeconfigUser): string {
  const credentials =
    'tokenFile' in user
      ? { tokenFile: user.tokenFile }
      : { 'client-certificate-data': base64(user.certPem), 'client-key-data': base64(user.keyPem) };
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'local', cluster: { server: url, 'certificate-authority-data': base64(caPem) } }],
    users: [{ name: 'local', user: credentials }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: 'local' } }],
    'current-context': 'local',
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
