import { X509Certificate } from 'node:crypto';
import { ReportTls, type AuthorityContent, type AuthorityStore, type StoredAuthority } from './report-tls.ts';

const MS_PER_DAY = 86_400_000;

/** A Secret in memory, with the server's compare-and-set. */
class MemoryAuthorityStore implements AuthorityStore {
  stored: StoredAuthority | undefined;
  writes = 0;

  async read(): Promise<StoredAuthority | undefined> {
    return this.stored;
  }

  async create(content: AuthorityContent): Promise<'written' | 'conflict'> {
    return this.stored === undefined ? this.#write(content) : 'conflict';
  }

  async update(based: StoredAuthority, content: AuthorityContent): Promise<'written' | 'conflict'> {
    return based.resourceVersion === this.stored?.resourceVersion ? this.#write(content) : 'conflict';
  }

  #write(content: AuthorityContent): 'written' {
    this.writes += 1;
    this.stored = { uid: 'u', resourceVersion: String(this.writes), ...content };
    return 'written';
  }
}

const setUp = (store = new MemoryAuthorityStore()) => {
  const time = { now: new Date('2026-01-01T00:00:00Z') };
  const tls = new ReportTls({ store, hosts: ['127.0.0.1', 'operator.svc'], now: () => time.now });
  const afterDays = (days: number): void => {
    time.now = new Date(time.now.getTime() + days * MS_PER_DAY);
  };
  return { store, tls, afterDays };
};
const count = (bundle: string): number => bundle.split('BEGIN CERTIFICATE').length - 1;
const signerOf = (pem: string): string => new X509Certificate(pem).issuer;

describe('the report certificate', () => {
  it('is signed by an authority that whoever comes first creates, for every host', async () => {
    const { tls, store } = setUp();
    await tls.refresh();
    const serving = new X509Certificate(tls.material.serving.certPem);
    expect(serving.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(serving.checkHost('operator.svc')).toBe('operator.svc');
    expect(serving.verify(new X509Certificate(tls.material.caBundlePem).publicKey)).toBe(true);
    expect(store.writes).toBe(1);
  });

  it('shares the authority with the other replicas, and shares no key with them', async () => {
    const store = new MemoryAuthorityStore();
    const [one, other] = [setUp(store).tls, setUp(store).tls];
    await Promise.all([one.refresh(), other.refresh()]);
    expect(one.material.caBundlePem).toBe(other.material.caBundlePem);
    expect(one.material.serving.keyPem).not.toBe(other.material.serving.keyPem);
  });

  it('is renewed before it ends, and left alone until then', async () => {
    const { tls, afterDays, store } = setUp();
    await tls.refresh();
    afterDays(50);
    expect(await tls.refresh()).toBe(false);
    afterDays(15);
    expect(await tls.refresh()).toBe(true);
    expect(store.writes).toBe(1);
  });

  it('changes its authority in two steps, so that pods trust the next one long before it signs', async () => {
    const { tls, afterDays } = setUp();
    await tls.refresh();
    const first = signerOf(tls.material.serving.certPem);
    afterDays(3650 - 300);
    await tls.refresh();
    expect(count(tls.material.caBundlePem)).toBe(2);
    expect(signerOf(tls.material.serving.certPem)).toBe(first);
    const trustedThen = tls.material.caBundlePem;
    afterDays(280);
    await tls.refresh();
    expect(signerOf(tls.material.serving.certPem)).not.toBe(first);
    expect(trustedThen).toContain(tls.material.caBundlePem.trim());
  });

  it('replaces a Secret that holds no usable authority', async () => {
    const { tls, store } = setUp();
    store.stored = { uid: 'u', resourceVersion: '0', ca: { certPem: 'nonsense', keyPem: 'nonsense' } };
    await tls.refresh();
    expect(count(tls.material.caBundlePem)).toBe(1);
  });
});
