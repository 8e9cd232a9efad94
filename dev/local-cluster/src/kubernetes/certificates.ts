import 'reflect-metadata'; // x509 resolves its algorithms through it.
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto as Crypto);

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const VALID_DAYS = 365;
const MS_PER_DAY = 86_400_000;

/** A certificate and its private key, both as PEM. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** Whom a certificate is for. */
export interface Subject {
  readonly commonName: string;
  /** Kubernetes reads these as groups of the user. */
  readonly organizations?: readonly string[];
  /** Host names and addresses that a server answers under. */
  readonly hosts?: readonly string[];
}

/** A certificate authority that lives as long as one control plane. */
export interface CertificateAuthority {
  readonly certPem: string;
  readonly keyPem: string;
  /** Issues a certificate that serves as client and as server. */
  issue(subject: Subject): Promise<KeyPair>;
}

/** Makes a self-signed authority named `commonName`, valid for a year. */
export async function createAuthority(commonName: string): Promise<CertificateAuthority> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [commonName] }],
    ...validity(),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return authority(certificate, keys);
}

/** Takes up an authority again whose PEM was kept in files. */
export async function loadAuthority(pair: KeyPair): Promise<CertificateAuthority> {
  const certificate = new x509.X509Certificate(pair.certPem);
  const der = x509.PemConverter.decodeFirst(pair.keyPem);
  const privateKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
  const publicKey = await certificate.publicKey.export(ALGORITHM, ['verify']);
  return authority(certificate, { privateKey: privateKey as CryptoKey, publicKey });
}

/** A key pair without certificate, as Kubernetes signs its service account tokens with. */
export async function createSigningKey(): Promise<{ readonly privatePem: string; readonly publicPem: string }> {
  const keys = await generateKeys();
  const spki = await webcrypto.subtle.exportKey('spki', keys.publicKey as webcrypto.CryptoKey);
  return {
    privatePem: await privatePem(keys.privateKey),
    publicPem: x509.PemConverter.encode(spki as ArrayBuffer, 'PUBLIC KEY'),
  };
}

async function authority(certificate: x509.X509Certificate, keys: CryptoKeyPair): Promise<CertificateAuthority> {
  return {
    certPem: `${certificate.toString('pem')}\n`,
    keyPem: await privatePem(keys.privateKey),
    issue: (subject) => issue({ certificate, keys, subject }),
  };
}

async function issue(request: {
  certificate: x509.X509Certificate;
  keys: CryptoKeyPair;
  subject: Subject;
}): Promise<KeyPair> {
  const { subject } = request;
  const keys = await generateKeys();
  const hosts = subject.hosts ?? [];
  const issued = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [subject.commonName] }, ...(subject.organizations ?? []).map((name) => ({ O: [name] }))],
    issuer: request.certificate.subjectName,
    ...validity(),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: request.keys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth, x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(request.keys.publicKey),
      ...(hosts.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(hosts.map(alternativeName))]),
    ],
  });
  return { certPem: `${issued.toString('pem')}\n`, keyPem: await privatePem(keys.privateKey) };
}

function alternativeName(host: string): x509.JsonGeneralName {
  return { type: /^[\d.]+$|:/.test(host) ? 'ip' : 'dns', value: host };
}

async function generateKeys(): Promise<CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as CryptoKeyPair;
}

async function privatePem(key: CryptoKey): Promise<string> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', key as webcrypto.CryptoKey);
  return `${x509.PemConverter.encode(pkcs8 as ArrayBuffer, 'PRIVATE KEY')}\n`;
}

function serialNumber(): string {
  return `01${Buffer.from(webcrypto.getRandomValues(new Uint8Array(15))).toString('hex')}`;
}

/** A day of slack for clocks that disagree. */
function validity(): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() - MS_PER_DAY), notAfter: new Date(Date.now() + VALID_DAYS * MS_PER_DAY) };
}
