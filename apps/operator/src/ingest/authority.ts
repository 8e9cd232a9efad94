import 'reflect-metadata'; // x509 resolves its algorithms through it.
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto as Crypto);

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const MS_PER_DAY = 86_400_000;
/** Pods carry the authority in their environment, which cannot change: it must outlive every job. */
const AUTHORITY_DAYS = 3650;
const SERVING_DAYS = 90;

/** A certificate and its private key as PEM. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** A new self-signed authority for report endpoints. */
export async function createAuthority(now: Date): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [`coxswain-report-${now.getTime()}`] }],
    ...validity(now, AUTHORITY_DAYS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return toPair(certificate, keys);
}

/** A serving certificate for `hosts` (names and addresses), signed by the authority; it never outlives its signer. */
export async function issueServingCertificate(
  authority: KeyPair,
  options: { readonly hosts: readonly string[]; readonly now: Date },
): Promise<KeyPair> {
  const signer = new x509.X509Certificate(authority.certPem);
  const der = x509.PemConverter.decodeFirst(authority.keyPem);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
  const keys = await generateKeys();
  const { notBefore, notAfter } = validity(options.now, SERVING_DAYS);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: ['coxswain-operator'] }],
    issuer: signer.subjectName,
    notBefore,
    notAfter: notAfter < signer.notAfter ? notAfter : signer.notAfter,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: signingKey as CryptoKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(await signer.publicKey.export(ALGORITHM, ['verify'])),
      new x509.SubjectAlternativeNameExtension(options.hosts.map(alternativeName)),
    ],
  });
  return toPair(certificate, keys);
}

/** The end of a certificate's validity; undefined when the text is no certificate. */
export function expiryOf(certPem: string): Date | undefined {
  try {
    return new x509.X509Certificate(certPem).notAfter;
  } catch {
    return undefined;
  }
}

function alternativeName(host: string): x509.JsonGeneralName {
  return { type: isIP(host) === 0 ? 'dns' : 'ip', value: host };
}

async function toPair(certificate: x509.X509Certificate, keys: CryptoKeyPair): Promise<KeyPair> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey as webcrypto.CryptoKey);
  return {
    certPem: `${certificate.toString('pem')}\n`,
    keyPem: `${x509.PemConverter.encode(pkcs8 as ArrayBuffer, 'PRIVATE KEY')}\n`,
  };
}

async function generateKeys(): Promise<CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as CryptoKeyPair;
}

function serialNumber(): string {
  return `01${Buffer.from(webcrypto.getRandomValues(new Uint8Array(15))).toString('hex')}`;
}

/** A day of slack for clocks that disagree. */
function validity(now: Date, days: number): { notBefore: Date; notAfter: Date } {
  return {
    notBefore: new Date(now.getTime() - MS_PER_DAY),
    notAfter: new Date(now.getTime() + days * MS_PER_DAY),
  };
}
